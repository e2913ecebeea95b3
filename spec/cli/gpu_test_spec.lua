-- scripts/gpu-test, with a command that says what it would of specs.

local command = require "spec.support.command"

-- Of files like '*pattern*', what comes behind the line that all passed.
local COMMAND = [[
#!/bin/sh
case $1 in --cuda-info | -e) exit 0 ;; esac
echo "2 passed, 0 failed, 0 pending"
case $3 in *%s*) %s ;; esac
]]

-- The last line, and whether that is a success.
local function last_line(pattern, behind)
  local file = command.file(COMMAND:format(pattern, behind))
  os.execute("chmod +x " .. file)
  local pipe = io.popen("PATH=/usr/bin:/bin scripts/gpu-test " .. file .. " 2>&1")
  local line
  for text in pipe:lines() do line = text end
  local good = pipe:close() or false
  os.remove(file)
  return line, good
end

describe("scripts/gpu-test", function()
  it("adds up what the files of specs say", function()
    local line, good = last_line("nothing", "")
    assert.matches("^%d+ passed, 0 failed$", line)
    assert.is_true(good)
  end)

  it("counts a file whose process fails behind what it says", function()
    for _, behind in ipairs { "kill -SEGV $$", "exit 3", "echo 'no memory'" } do
      local line, good = last_line("driver_spec", behind)
      assert.matches("^%d+ passed, 1 failed$", line)
      assert.is_false(good)
    end
  end)
end)
