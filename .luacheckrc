std = "lua54"
files["spec"] = { std = "+busted" }
-- Annotations for editors: functions without bodies.
files["lua/lutile/meta.lua"] = { ignore = { "212", "241", "631" } }
-- Scripts for the lutile command find its names among the globals.
files["examples"] = { read_globals = {} }
