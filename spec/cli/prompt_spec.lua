local command = require "spec.support.command"
local run = command.run

-- What the prompt prints for these lines, without the version and the prompts; and on stderr.
local function prompt(lines)
  local r = run([[-i -e "_PROMPT, _PROMPT2 = '', ''"]], lines)
  assert.equal(0, r.code)
  return r.out:match "^lutile [^\n]*\n(.*)\n$", r.err
end

describe("the prompt", function()
  it("prints the results of expressions and of statements that return", function()
    assert.equal("3\n6\t7\n", (prompt "x = 3\nx\n=x * 2, 7\nlocal y = 1\n"))
  end)

  it("prints values as tostring does", function()
    assert.equal("(4,8):(1,4)\n", (prompt "make_layout({4, 8})\n"))
  end)

  it("takes chunks of several lines", function()
    assert.equal("1\n2\n", (prompt "for i = 1, 2 do\nprint(i)\nend\n"))
    assert.equal("a\nb\n", (prompt "print [[a\nb]]\n"))
  end)

  it("takes lines of any length", function()
    local long = ("a"):rep(5000)
    assert.equal("5000\n", (prompt(("#'%s'\n"):format(long))))
  end)

  it("goes on after an error", function()
    local out, err = prompt "error 'no'\nundefined_name\nx = = 1\nprint(2)\n"
    assert.equal("2\n", out)
    assert.matches("^stdin:1: no\nstack traceback:\n", err)
    assert.matches("\nstdin:1: undefined global 'undefined_name'\n", err)
    assert.matches("\nstdin:1: unexpected symbol near '='\n", err)
  end)

  it("shows an error of tostring", function()
    local _, err = prompt "setmetatable({}, {__tostring = function() error 'mine' end})\n"
    assert.matches("^stdin:1: mine\n", err)
  end)

  it("says what is missing where the input ends too early", function()
    local out, err = prompt "for i = 1, 2 do\n"
    assert.equal("\n", out)
    assert.equal("stdin:1: 'end' expected near <eof>\n", err)
  end)

  it("shows prompts of the user's", function()
    assert.matches("> lay> \n$", run("-i", "_PROMPT = 'lay' .. '> '\n").out)
  end)

  it("follows a script when told to", function()
    local name = command.file "x = 5"
    assert.matches("> 5\n", run("-i " .. name, "x\n").out)
    os.remove(name)
  end)

  it("explains names, functions and values", function()
    local out = prompt "help(composition)\n"
    assert.matches("^composition%(a, b%)\n  The layout r ", out)
    assert.equal(out, (prompt "help 'composition'\n"))
    assert.matches("^4:1\n  methods: .*%f[%w]complement%f[%W]", (prompt "help(make_layout(4))\n"))
    assert.matches("help%(composition%)", (prompt "help()\n"))
    assert.equal((prompt "help()\n"), (prompt "help\n"))
    assert.matches("^M.load%(path%)\n  The tensor in ", (prompt "help(lutile.npy.load)\n"))
    assert.matches("^functions:\n  decode encode", (prompt "help(lutile.npy)\n"))
    assert.matches("^a function, and none", (prompt "help(print)\n"))
    assert.matches("^no help on \"nothing\"", (prompt "help 'nothing'\n"))
  end)
end)

describe("leaving the prompt", function()
  for _, word in ipairs { "exit", "quit", "exit()", "quit()" } do
    it("is explained by " .. word, function()
      local out, err = prompt(word .. "\n")
      assert.same({ "Ctrl-D or os.exit() leaves the prompt\n", "" }, { out, err })
    end)
  end

  it("is explained where the script has no such globals", function()
    local r = run([[-i -e "_PROMPT, exit, help = '', 7, 8"]], "exit\nhelp\n")
    assert.matches("\n7\n8\n\n$", r.out)
  end)
end)

describe("the prompt on a terminal", function()
  local startup = os.getenv "LUTILE_VALGRIND_LOG" and 4 or 0.3 -- seconds until keys are read

  -- Keys are typed through a terminal that script(1) makes.
  local function terminal(keys, home)
    local feed = ("(sleep %s; printf %s; sleep %s)"):format(startup, command.quote(keys), startup)
    local environment = ("HOME=%s XDG_STATE_HOME= TERM=xterm"):format(home)
    local pipe = assert(io.popen(("%s | %s timeout 20 script -qec %s /dev/null"):format(
      feed, environment, command.quote(command.path))))
    local out = pipe:read "a"
    pipe:close()
    return (out:gsub("\r", ""):gsub("\27%[%d*%a", "")) -- without the cursor's moves
  end

  local home

  before_each(function()
    home = os.tmpname()
    os.remove(home)
    assert(os.execute("mkdir " .. home))
  end)

  after_each(function() os.execute("rm -rf " .. home) end)

  local has_terminal = os.execute "script -qec true /dev/null </dev/null >/dev/null 2>&1"
  local maybe = has_terminal and it or pending

  maybe("completes names, and keeps the history", function()
    local out = terminal([[L = make_layout({4, 8})\nL:complem\t(64)\n\004]], home)
    assert.matches("\n2:32\n", out)
    local history = assert(io.open(home .. "/.lutile_history")):read "a"
    assert.matches("L:complement", history)
  end)

  maybe("drops the line on Ctrl-C", function()
    local out = terminal([[x = = =\003print(6 * 7)\n\004]], home)
    assert.matches("\n42\n", out)
    assert.not_matches("unexpected symbol", out)
  end)
end)
