std = "lua54"
max_line_length = 100
exclude_files = { "build*/**" }
files["spec"] = { std = "+busted" }
