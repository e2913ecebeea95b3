-- Runs the lutile command as a shell would.

local M = {}

-- CTest names the command; without it, the specs run in the command itself, or in another Lua.
M.path = os.getenv "LUTILE_COMMAND" or arg and arg[-1]

local function read_file(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read "a"
  file:close()
  os.remove(name)
  return text
end

-- A file with this text, for the length of one spec.
function M.file(text)
  local name = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
  return name
end

function M.quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- 'arguments' as the shell reads them; gives { out, err, code }.
function M.run(arguments, input, environment)
  local out, err, from = os.tmpname(), os.tmpname(), M.file(input or "")
  local line = ("%s %s %s"):format(environment or "", M.quote(M.path), arguments)
  local _, _, code = os.execute(("%s <%s >%s 2>%s"):format(line, from, out, err))
  os.remove(from)
  return { out = read_file(out), err = read_file(err), code = code }
end

-- The same with a chunk.
function M.execute(chunk) return M.run("-e " .. M.quote(chunk)) end

return M
