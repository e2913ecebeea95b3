-- The headers of kernels: which file an include is, and that no kernel outlives a change of one.

local support = require "spec.support.cuda"
local command = require "spec.support.command"

local it_compiles = support.with_compiler(it, pending)

local lutile_path = command.path and command.path:find "^/" and command.path
  or ("%s/%s"):format(os.getenv "PWD", command.path)

local KERNEL = [[extern "C" __global__ void k(int *p) { static_assert(V == 1, "V"); p[0] = V; }]]

local folder

local function write(name, text)
  os.execute("mkdir -p " .. command.quote((folder .. "/" .. name):match "^(.*)/"))
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write((text:gsub("$D", folder)))
  file:close()
end

-- Runs a chunk in the folder, with a cache of its own; what it prints.
local function run(chunk)
  write("script.lua", chunk)
  local pipe = io.popen(("cd %s && LUTILE_CACHE=%s/cache %s script.lua 2>&1"):format(
    command.quote(folder), command.quote(folder), command.quote(lutile_path)))
  local text = pipe:read "a"
  pipe:close()
  return (text:gsub("\n$", ""))
end

-- Compiles twice, and once more after the file has another text: where the kernels are from, or the
-- compiler's message.
local function compile_around(changed, text, spec)
  return run(([[
local function compile()
  local good, k = pcall(require "lutile.cuda".compile, %s)
  return good and k.origin or k
end
local first, second = compile(), compile()
io.open(%q, "w"):write(%q):close()
print(first .. " " .. second .. " " .. compile())]]):format(spec, changed, text))
end

-- Compiles by a table's text: where the kernel is from, or the compiler's message.
local function compile(spec)
  return run(([[
local good, k = pcall(require "lutile.cuda".compile, %s)
print(good and k.origin or k)]]):format(spec))
end

local function spec_of(text, options)
  return ("{ arch = 80, name = 'k', options = { %s }, source = [==[%s\n%s]==] }"):format(
    options or "", text, KERNEL)
end

local H = "#define V 1\n"

describe("a kernel's header", function()
  before_each(function() folder = support.new_folder() end)
  after_each(function() support.remove_folder(folder) end)

  -- Ways to 'changed', the file that is changed: kernels are kept where it is known that they read
  -- it, and compiled each time where only the compiler reads it.
  for _, case in ipairs {
    { "in the current folder", text = '#include "h.cuh"' },
    { "by an absolute path", text = '#include "$D/h.cuh"' },
    { "by an absolute path in angles", text = "#include <$D/h.cuh>" },
    { "of another header", text = '#include "a.cuh"', files = { ["a.cuh"] = '#include "h.cuh"' } },
    { "beside another header", text = '#include "sub/a.cuh"', changed = "sub/h.cuh",
      files = { ["sub/a.cuh"] = '#include "h.cuh"' } },
    { "above another header", text = '#include "sub/a.cuh"',
      files = { ["sub/a.cuh"] = '#include "../h.cuh"' } },
    { "by --pre-include=", options = "'--pre-include=h.cuh'" },
    { "by --pre-include", options = "'--pre-include', 'h.cuh'" },
    { "by -include=", options = "'-include=$D/h.cuh'" },
    { "by -include", options = "'-include', '$D/h.cuh'" },
    { "by -include in a folder of -I", options = "'-include=h.cuh', '-Isub'",
      changed = "sub/h.cuh" },
    { "of one by --pre-include", options = "'--pre-include=sub/a.cuh'", changed = "sub/h.cuh",
      files = { ["sub/a.cuh"] = '#include "h.cuh"' } },
    { "by -Isub", text = "#include <h.cuh>", options = "'-Isub'", changed = "sub/h.cuh" },
    { "by -I sub", text = "#include <h.cuh>", options = "'-I sub'", changed = "sub/h.cuh" },
    { "by -I=sub", text = "#include <h.cuh>", options = "'-I=sub'", changed = "sub/h.cuh" },
    { "by -I, sub", text = "#include <h.cuh>", options = "'-I', '$D/sub'", changed = "sub/h.cuh" },
    { "by --include-path=sub", text = '#include "h.cuh"', options = "'--include-path=sub'",
      changed = "sub/h.cuh" },
    { "by --include-path, sub", text = '#include "h.cuh"', options = "'--include-path', 'sub/'",
      changed = "sub/h.cuh" },
    { "in a branch, between comments",
      text = '#if 1 // it\'s "one"\n# /**/ include /**/ "h.cuh" // /*\n#endif' },
    { "after /* in a string", text = 'constexpr char c[] = "/*";\n#include "h.cuh" // */' },
    { "after lone quotes that #if leaves out", text = '#if __has_include("nothing.cuh")\n#endif\n'
      .. '#if 0\ndon\'t look into dir/*\nor "dir/*\n#endif\n#include "h.cuh" // */' },
    { "on a spliced line", text = '#include \\\n"h.cuh"' },
    { "by a digraph", text = '%:include "h.cuh"' },
    { "by __has_include", text = '#ifdef __has_include\n#if __has_include("h.cuh")\n'
      .. '#include "h.cuh"\n#endif\n#endif' },
    { "in the prelude", text = "", prelude = '#include "h.cuh"' },

    { "by a macro", text = '#define H "h.cuh"\n#include H', read = true },
    { "by an option's macro", text = "#include H", options = "'-DH=\"h.cuh\"'", read = true },
    { "by a macro in a header", text = '#include "sub/a.cuh"', changed = "sub/h.cuh", read = true,
      files = { ["sub/a.cuh"] = '#define H "h.cuh"\n#include H' } },
    { "on a line spliced within a word", text = '#inc\\\nlude "h.cuh"', read = true },
    { "by include_next", text = "#include_next <h.cuh>", options = "'-I.'", read = true },
    { "after digits with a lone quote that #if leaves out", read = true,
      text = '#if __has_include("nothing.cuh")\n#endif\n'
        .. '#if 0\n100\'s /*\n#endif\n#include "h.cuh" // */' },
    { "after a comment of spliced lines", text = '/\\\n/ /*\n#include "h.cuh"\n// */',
      read = true },
  } do
    it_compiles(("is part of it: %s"):format(case[1]), function()
      local changed = case.changed or "h.cuh"
      local spec = spec_of(case.text or "", case.options)
      if case.prelude then spec = spec:gsub("}$", (", prelude = %q }"):format(case.prelude)) end
      for name, text in pairs(case.files or {}) do write(name, text .. "\n") end
      write(changed, H)
      assert.matches(("^compiled %s .*static assertion failed"):format(
        case.read and "compiled" or "memory"), compile_around(changed, "#define V 2\n", spec))
    end)
  end

  it_compiles("that only the compiler reads has its kernels on no disk, one of a code", function()
    write("h.cuh", H)
    assert.equal("compiled compiled true true", (run(([[
local cuda = require "lutile.cuda"
local spec = %s
local first = cuda.compile(spec)
local origin, second = first.origin, cuda.compile(spec)
print(origin, second.origin, first.key == second.key, first:image() == second:image())]]):format(
      spec_of '#define H "h.cuh"\n#include H')):gsub("\t", " ")))
    assert.same({}, support.list(folder .. "/cache"))
  end)

  it_compiles("that comes to be is found", function()
    local spec = spec_of('#if __has_include("h.cuh")\n#define V 2\n#else\n#define V 1\n#endif')
    assert.equal("compiled", compile(spec))
    write("h.cuh", "")
    assert.matches("static assertion failed", compile(spec), 1, true)
  end)

  it_compiles("may be missing where it is not wanted", function()
    local spec = spec_of "#define V 1\n#if 0\n#include <nowhere/h.cuh>\n#endif"
    assert.equal("compiled", compile(spec))
    assert.equal("disk", compile(spec))
  end)

  it_compiles("is found beside the kernel's file, whatever the current folder is", function()
    write("sub/k.cu", '#include "swizzle.cuh"\n#include "inner/a.cuh"\n' .. KERNEL)
    write("sub/swizzle.cuh", "#pragma once\n#define ONE 1\n")
    write("sub/inner/a.cuh", '#include "b.cuh"\n')
    write("sub/inner/b.cuh", '#include "../swizzle.cuh"\n#define V ONE\n')
    assert.equal("compiled", compile "{ file = '$D/sub/k.cu', arch = 80 }")
    assert.equal("disk", compile "{ file = '$D/sub/k.cu', arch = 80 }")
    assert.equal("compiled", compile "{ file = 'sub/k.cu', arch = 80 }")
  end)

  it_compiles("of lutile's name is the script's where it is beside or in a folder of -I", function()
    for _, name in ipairs { "swizzle.cuh", "lutile.cuh", "ptx.cuh", "generated.cuh" } do
      local text = ('#pragma once\n#define V 1\n#include "mma.cuh"\n'):gsub("mma", name == "ptx.cuh"
        and "mma" or "ptx")
      write("near/k.cu", ('#include "%s"\n'):format(name) .. KERNEL)
      write("near/" .. name, text)
      assert.equal("compiled", compile "{ file = 'near/k.cu', arch = 80 }")
      write("k.cu", ('#include "%s"\n'):format(name) .. KERNEL)
      write(name, text)
      assert.equal("compiled", compile "{ file = 'k.cu', arch = 80 }")
      assert.equal("compiled", compile(spec_of(("#include <%s>"):format(name), "'-Inear'")))
      os.remove(folder .. "/" .. name)
    end
  end)

  it_compiles("of lutile's name is lutile's in lutile's kernels and in mere texts", function()
    for _, name in ipairs { "swizzle.cuh", "lutile.cuh", "ptx.cuh", "element.cuh",
      "generated.cuh" } do
      write(name, "#error a file in the current folder\n")
    end
    local plan = "require 'lutile'.plan.gemm { M = 64, N = 64, K = 64, dtype = 'f16', arch = 80 }"
    assert.equal("compiled", compile(plan .. ":compile_options(nil, 80)"))
    local text = '#include "ptx.cuh"\n#include <swizzle.cuh>\n#define V 1'
    assert.equal("compiled", compile(spec_of(text)))
  end)

  it_compiles("is lutile's where it is a copy of it", function()
    for _, name in ipairs { "lutile.cuh", "ptx.cuh", "swizzle.cuh" } do
      local file = assert(io.open("kernels/" .. name))
      write("copies/" .. name, file:read "a")
      file:close()
    end
    write("copies/k.cu", '#include "lutile.cuh"\n#include "../copies/swizzle.cuh"\n#define V 1\n'
      .. KERNEL)
    assert.equal("compiled", compile "{ file = 'copies/k.cu', arch = 80 }")
    write("k.cu", '#include "copies/ptx.cuh"\n#include "ptx.cuh"\n#define V 1\n' .. KERNEL)
    assert.equal("compiled", compile "{ file = './k.cu', arch = 80 }")
  end)

  it_compiles("with an error is named by its path, with the line", function()
    write("sub/h.cuh", "\n#error oh\n")
    local message = compile(spec_of '#include "sub/h.cuh"')
    assert.matches("./sub/h.cuh(2): ", message, 1, true)
    assert.matches("#error oh", message, 1, true)
  end)

  it_compiles("by two paths is one file", function()
    write("h.cuh", "#pragma once\nstruct only {};\n#define V 1\n")
    write("sub/a.cuh", '#include "../h.cuh"\n#include "$D/h.cuh"\n')
    assert.equal("compiled", compile(spec_of '#include "h.cuh"\n#include "sub/a.cuh"'))
  end)

  it_compiles("is told from one of its name in another folder", function()
    write("a/a.cuh", '#include "h.cuh"\n')
    write("a/h.cuh", "#define V 1\n")
    write("b/b.cuh", '#include "h.cuh"\n')
    write("b/h.cuh", "static_assert(V == 1);\n")
    assert.equal("compiled", compile(spec_of '#include "a/a.cuh"\n#include "b/b.cuh"'))
  end)

  -- The folder before '..' is a link: the short path is another file's.
  it_compiles("is told from one by a link and ..", function()
    for _, once in ipairs { "", "#pragma once\n" } do
      for _, where in ipairs { "x", "other" } do
        write(where .. "/h.cuh", once .. '#include "v.cuh"\n')
        write(where .. "/v.cuh", where == "x" and "#define W 1\n" or "#define V W\n")
      end
      write("other/deep/file", "")
      os.execute(("ln -sfn ../other/deep %s"):format(command.quote(folder .. "/x/link")))
      local text = '#include "x/h.cuh"\n#include "x/link/../h.cuh"\n' .. once
      assert.equal("compiled", compile(spec_of(text)))
      assert.equal("disk", compile(spec_of(text)))
    end
  end)

  it_compiles("may include one that includes it, through '..' or links", function()
    write("a.cuh", '#pragma once\n#include "sub/b.cuh"\n#include "./here/sub/b.cuh"\n')
    write("sub/b.cuh", '#pragma once\n#include "../a.cuh"\n#include "../here/a.cuh"\n'
      .. "#define V 1\n")
    os.execute("ln -s . " .. command.quote(folder .. "/here"))
    assert.equal("compiled", compile(spec_of '#include "here/sub/../a.cuh"\n#include "a.cuh"'))
  end)

  it_compiles("that cannot be handed over is an error where it is included only", function()
    write("zero.cuh", "#define Z\0\n")
    os.execute("mkfifo " .. command.quote(folder .. "/pipe.cuh"))
    for _, case in ipairs { { "zero.cuh", "./zero.cuh has a zero byte in it" },
      { "pipe.cuh", "./pipe.cuh is no plain file" } } do
      local include = ('#include "%s"\n'):format(case[1])
      assert.matches("#error " .. case[2], compile(spec_of(include)), 1, true)
      local text = ("#define V 1\n#if 0\n%s#endif\n/* %s */\n"):format(include, include)
        .. ('#if !__has_include("%s")\n#error none\n#endif'):format(case[1])
      assert.equal("compiled", compile(spec_of(text)))
      assert.equal("disk", compile(spec_of(text)))
    end
    assert.equal("compile: $D/zero.cuh has a zero byte in it",
      (compile "{ file = '$D/zero.cuh', arch = 80 }":gsub("^script.lua:%d+: ", "")
        :gsub(folder, "$D", 1)))
  end)

  it_compiles("that is a folder, or cannot be read, is none", function()
    os.execute("mkdir " .. command.quote(folder .. "/h.cuh"))
    assert.matches('source file "h.cuh"', compile(spec_of '#include "h.cuh"'), 1, true)
    assert.matches("compile: .*: Is a directory", compile "{ file = '$D/h.cuh', arch = 80 }")
  end)
end)
