-- Runs busted in the Lua that runs this script: lutile spec/run.lua [busted's arguments].
require "busted.runner" { standalone = false }
