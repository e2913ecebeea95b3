std = "lua54"
max_line_length = 100
exclude_files = { "build*/**" }
files["spec"] = { std = "+busted" }
-- Editors read it: functions without bodies.
files["lua/lutile/meta.lua"] = { ignore = { "212", "241" } }
-- Scripts for the lutile command, which has lutile's names among its globals and checks them.
files["examples"] = { ignore = { "113" } }
