-- Kernels compiled: every template for every architecture, errors, and what the parameters are.

local lutile = require "lutile"
local support = require "spec.support.cuda"

local it_compiles = support.with_compiler(it, pending)

local function compile(spec)
  local kernel = require "lutile.cuda".compile(spec)
  return kernel
end

local ARCHITECTURES = { "sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a" }

local function copy_layouts(source, target)
  return { source = lutile.parse(source), target = lutile.parse(target) }
end

local function gemm(dtype, options)
  local all = { M = 100, N = 100, K = 100, dtype = dtype, arch = 75, template = "simt_gemm.cu" }
  for name, x in pairs(options or {}) do all[name] = x end
  return function(arch) return lutile.plan.gemm(all):compile_options(nil, arch) end
end

-- What templates are compiled with.
local PLANS = {
  { "copy.cu", "vectors", file = "copy.cu", values = { bytes = 16, rows = true, element = 0 },
    layouts = copy_layouts("(?64,?3):(1,?64)", "(?64,?3):(1,?80)") },
  { "copy.cu", "vectors and a tail", file = "copy.cu",
    values = { bytes = 16, rows = true, element = 2 },
    layouts = copy_layouts("(?64,?3):(1,?64)", "(?64,?3):(1,?80)") },
  { "copy.cu", "bytes one by one", file = "copy.cu",
    values = { bytes = 1, rows = false, element = 0 },
    layouts = copy_layouts("(?64,?3):(?5,?64)", "(?64,?3):(1,?80)"), index = 32 },
  { "copy_transposed.cu", "f16", file = "copy_transposed.cu",
    values = { bytes = 2, source_vector = 8, target_vector = 8, tile_a = 64, tile_b = 128,
      group = 0, streaming = false }, index = 32,
    layouts = copy_layouts("(?64,?8,?3):(?8,1,?512)", "(?64,?8,?3):(1,?64,?512)") },
  { "copy_transposed.cu", "f32, past the caches", file = "copy_transposed.cu",
    values = { bytes = 4, source_vector = 4, target_vector = 4, tile_a = 64, tile_b = 64,
      group = 16, streaming = true }, index = 64,
    layouts = copy_layouts("(?64,?8,?3):(?8,1,?512)", "(?64,?8,?3):(1,?64,?512)") },
  { "copy_elements.cu", "from a swizzle", file = "copy_elements.cu",
    types = { source = "f16", target = "e4m3" }, values = { converts = true },
    layouts = copy_layouts("Sw<3,3,3> o 0 o (8,64):(64,1)", "(8,64):(1,8)") },
  { "simt_gemm.cu", "f32", build = gemm("f32", { tile = { 128, 128, 16 }, beta = true,
    bias = "row", epilogue = "fmaxf(x, 0.0f)" }) },
  { "simt_gemm.cu", "f16", build = gemm("f16", { scales = true, out = "e4m3", bias = "column" }) },
  { "simt_gemm.cu", "tf32", build = gemm "tf32" },
  { "simt_gemm.cu", "f64", build = gemm("f64", { dtype_b = "f32", beta = true }) },
  { "simt_gemm.cu", "c64", build = gemm("c64", { epilogue = "Value{x.re, -x.im}" }) },
  { "simt_gemm.cu", "s4", build = gemm("s4", { dtype_b = "u4", out = "s4" }) },
  { "simt_gemm.cu", "e2m1", build = gemm("e2m1", { dtype_b = "ue8m0", out = "e3m2" }) },
}

local function spec_of(plan, arch)
  local spec = plan.build and plan.build(arch) or {}
  for k, v in pairs(plan) do if type(k) == "string" and k ~= "build" then spec[k] = v end end
  spec.arch = arch
  return spec
end

describe("templates", function()
  for _, arch in ipairs(ARCHITECTURES) do
    for _, plan in ipairs(PLANS) do
      it_compiles(("%s (%s) compiles for %s"):format(plan[1], plan[2], arch), function()
        local kernel = compile(spec_of(plan, arch))
        assert.equal(arch, kernel.arch)
        assert.equal("\127ELF", kernel:image():sub(1, 4))
      end)
    end
  end
end)

local function error_of(spec)
  local ok, message = pcall(compile, spec)
  assert.is_false(ok)
  return message
end

local function kernel_source(parameters, body)
  return ('extern "C" __global__ void f(%s) {\n%s\n}\n'):format(parameters, body or "")
end

describe("compile", function()
  it_compiles("gives file, line and text of an error in the source", function()
    local message = error_of { arch = "sm_80", name = "f",
      source = kernel_source("int *p", "  p[0] = undefined_name;") }
    assert.matches("NVRTC fails on kernel 'f' for sm_80", message, 1, true)
    assert.matches('kernel.cu(2): error: identifier "undefined_name" is undefined', message, 1,
      true)
    assert.matches("p[0] = undefined_name;", message, 1, true)
    assert.matches("compile_spec.lua:%d+: ", message)
  end)

  it_compiles("gives file, line and text of an error in what was generated", function()
    local message = error_of { arch = "sm_80", name = "f", source = kernel_source "",
      values = { class = 3 } }
    assert.matches("generated.cuh(%d+): error:", (message:gsub("[()]", "")))
    assert.matches("constexpr int class = 3;", message, 1, true)
  end)

  it_compiles("keeps the compiler's warnings, each with its line", function()
    local spec = { arch = "sm_80", name = "f", source = kernel_source("int *p",
      "  int unused = 1; // compiled anew at each time: " .. os.time()) }
    local log = compile(spec).log
    assert.matches('kernel.cu(2): warning #177-D: variable "unused" was declared', log, 1, true)
    assert.matches("int unused = 1;", log, 1, true)
    local again = compile(spec)
    assert.same({ "memory", log }, { again.origin, again.log })
    assert.equal("", compile { arch = "sm_80", name = "f", source = kernel_source "" }.log)
  end)

  it_compiles("keeps all of a long log", function()
    local lines = {}
    for i = 1, 400 do lines[i] = ("  int unused_%d = %d;"):format(i, i) end
    lines[401] = "// compiled anew at each time: " .. os.time()
    local log = compile { arch = "sm_80", name = "f",
      source = kernel_source("int *p", table.concat(lines, "\n")) }.log
    for i = 1, 400 do
      assert.matches(('kernel.cu(%d): warning #177-D: variable "unused_%d" was'):format(i + 1, i),
        log, 1, true)
      assert.equal(1, select(2, log:gsub("int unused_" .. i .. " = ", "")))
    end
  end)

  it_compiles("does not say that NVVM and ptxas are asked for different efforts", function()
    local options = { "--Ofast-compile=min", "--ptxas-options=--Ofast-compile=0" }
    assert.equal("", compile { arch = "sm_80", name = "f", source = kernel_source "",
      options = options }.log)
    local log = compile { arch = "sm_80", name = "f", options = options,
      source = kernel_source("int *p", "  int unused = 1; // " .. os.time()) }.log
    assert.matches('variable "unused"', log, 1, true)
    assert.is_nil(log:find "Ofast")
  end)

  it_compiles("shows all of what was compiled", function()
    local kernel = compile { arch = "sm_80", name = "f", source = kernel_source "",
      layouts = { A = lutile.parse "(4,8):(8,1)" }, values = { stages = 3, EXPRESSION = "x + 1" },
      types = { T = "f16" } }
    for _, line in ipairs { "struct A {", "constexpr int stages = 3;", "#define EXPRESSION x + 1",
      "using T = lutile::f16;", 'extern "C" __global__ void f() {' } do
      assert.matches(line, kernel.source, 1, true)
    end
  end)

  it_compiles("reads the parameters from the declaration", function()
    local kernel = compile { arch = "sm_80", name = "f", types = { T = "bf16" },
      layouts = { A = lutile.parse "(?4,8):(8,1)" },
      source = kernel_source([[const float *__restrict__ x, type::T *y, void *z, int n,
        unsigned long long m, // a comment, with a comma
        double alpha, const layout::A l, lutile::tensor<const type::T, layout::A> t, bool b]]) }
    local texts = {}
    for i, p in ipairs(kernel.parameters) do
      texts[i] = ("%s %s %s"):format(p.name, p.kind, p.dtype or p.bits or "any")
    end
    assert.same({ "x pointer f32", "y pointer bf16", "z pointer any", "n signed 32",
      "m unsigned 64", "alpha number f64", "l layout 64", "t tensor bf16", "b unsigned 8" }, texts)
  end)

  local TYPES = [[
using int8_t = signed char; using uint8_t = unsigned char; using int16_t = short;
using uint16_t = unsigned short; using uint64_t = unsigned long; using intptr_t = long;
using uintptr_t = unsigned long; using ptrdiff_t = long;
namespace std { using int32_t = int; using size_t = unsigned long; }
]]

  for parameter, wanted in pairs {
    ["uint8_t x"] = "unsigned 8", ["int8_t x"] = "signed 8", ["uint16_t x"] = "unsigned 16",
    ["int16_t x"] = "signed 16", ["std::int32_t x"] = "signed 32",
    ["::std::size_t x"] = "unsigned 64",
    ["uint64_t x"] = "unsigned 64", ["uintptr_t x"] = "unsigned 64", ["intptr_t x"] = "signed 64",
    ["ptrdiff_t x"] = "signed 64", ["unsigned long long int x"] = "unsigned 64",
    ["long int x"] = "signed 64", ["long unsigned x"] = "unsigned 64", ["long x"] = "signed 64",
    ["long int long unsigned x"] = "unsigned 64", ["short int x"] = "signed 16",
    ["int const short unsigned x"] = "unsigned 16", ["signed x"] = "signed 32",
    ["unsigned x"] = "unsigned 32", ["signed int x"] = "signed 32", ["char x"] = "signed 8",
    ["unsigned char x"] = "unsigned 8", ["[[maybe_unused]] bool x"] = "unsigned 8",
    ["float x[]"] = "pointer f32", ["const double x[16]"] = "pointer f64",
    ["int x [2][3]"] = "pointer s32", ["float *x[]"] = "pointer 64",
    ["void *const x"] = "pointer 64", ["uint8_t *x"] = "pointer 64",
    ["lutile::u8 x"] = "unsigned 8", ["lutile::bf16 x"] = "number bf16",
  } do
    it_compiles("reads a parameter: " .. parameter, function()
      local kernel = compile { arch = "sm_80", name = "f",
        source = TYPES .. kernel_source(parameter) }
      local p = kernel.parameters[1]
      assert.equal("x", p.name)
      assert.equal(wanted, ("%s %s"):format(p.kind, p.dtype or p.bits or 64))
    end)
  end

  it_compiles("reads it after lone quotes that #if leaves out", function()
    for _, line in ipairs { "I don't /* know", '"/*', "2' /*" } do
      compile { name = "k", arch = 80, source = ("#if 0\n%s\n#endif\n"):format(line)
        .. 'extern "C" __global__ void k(int *p) {}' }
    end
  end)

  it_compiles("reads the definition, not declarations before", function()
    local definition = kernel_source "float x, int *y"
    for _, before in ipairs { 'extern "C" __global__ void f(float, int *);\n',
      '__device__ const char comment[] = "/*";\n', 'static_assert(\'/\' != \'*\');\n',
      '// extern "C" __global__ void f(int x) {\n', '/* __global__ void f(int x) { */\n',
      '__device__ const char quoted[] = "__global__ void f(int x) {";\n',
      '__device__ const char raw[] = R"(__global__ void f(int x) { /* ")";\n' } do
      local p = compile { arch = "sm_80", name = "f",
        source = before .. definition .. "// */\n" }.parameters
      assert.same({ "number", "x", "pointer", "y" }, { p[1].kind, p[1].name, p[2].kind, p[2].name })
    end
  end)

  it_compiles("reads one of definitions that a launch fills alike", function()
    for _, case in ipairs { { "float x, T *y", "f32 x, float *z" }, { "int x", "const int y" } } do
      local text = "using T = float; using f32 = float;\n#ifdef A\n%s\n#else\n%s\n#endif\n"
      local kernel = compile { arch = "sm_80", name = "f", types = { T = "f32", f32 = "f32" },
        source = text:format(kernel_source(case[1]), kernel_source(case[2])) }
      assert.equal("x", kernel.parameters[1].name)
    end
  end)

  for _, text in ipairs {
    "#if 0\n$FLOAT\n#else\n$INT\n#endif\n", "#if 0 // old\n$FLOAT\n#endif\n$INT\n",
    "#if 0\n#if 1\n#else\n#endif\n$FLOAT\n#elif 1\n$INT\n#endif\n",
    "# if 1\n#if A\n#endif\n$INT\n# else\n$FLOAT\n# endif\n",
    "#if 1\n$INT\n#elif 1\n$FLOAT\n#else\n$FLOAT\n#endif\n",
  } do
    it_compiles("reads the definition that is taken: " .. text:gsub("\n", " "), function()
      local definitions = { FLOAT = kernel_source "float x", INT = kernel_source "int x" }
      local source = text:gsub("%$(%u+)", definitions)
      local kernel = compile { arch = "sm_80", name = "f", source = source }
      assert.equal("signed", kernel.parameters[1].kind)
    end)
  end

  for _, lists in ipairs { { "float y", "int x" }, { "int x", "int x, int y" },
    { "struct thing t", "int x" }, { "float *x", "int *x" } } do
    it_compiles(("refuses to choose between (%s) and (%s)"):format(lists[1], lists[2]), function()
      local source = ("#ifndef INT\n%s\n#else\n%s\n#endif\n"):format(kernel_source(lists[1]),
        kernel_source(lists[2]))
      local message = error_of { name = "f", arch = "sm_80", source = source }
      assert.matches(("kernel 'f' is there with parameters (%s) and (%s), and only the prepro")
        :format(lists[1], lists[2]), message, 1, true)
    end)
  end

  for _, case in ipairs {
    { { name = "f", source = kernel_source "struct thing t" }, "type 'struct thing'" },
    { { name = "f", source = kernel_source "long double x" }, "type 'long double'" },
    { { name = "f", source = kernel_source "lutile::layout x" }, "type 'lutile::layout'" },
    { { name = "f", source = kernel_source "float" }, "parameter 1 of kernel 'f' has no name" },
    { { name = "g", source = kernel_source "" }, "no kernel 'g'" },
    { { name = "g", source = kernel_source "" .. '// __global__ void g() {' }, "no kernel 'g'" },
    { { name = "f", source = '/* extern "C" */ __global__ void f() {}' },
      'must be declared extern "C"' },
    { { name = "f", source = "__global__ void f() {}" }, 'must be declared extern "C"' },
    { { name = "f" }, "either 'source' or 'file' is needed" },
    { { name = "f", source = "", file = "copy.cu" }, "either 'source' or 'file' is needed" },
    { { name = "f(", source = "" }, "'f(' is no name of a kernel" },
    { { name = "f", source = 'extern "C" __global__ void f() {}\0junk' },
      "'text' has a zero byte in it" },
    { { name = "f", source = 'extern "C" __global__ void f() {}', options = { 5 } },
      "an option of NVRTC is a string, not a number" },
    { { name = "f", source = 'extern "C" __global__ void f() {}', options = { "-D\0" } },
      "'options' has a zero byte in it" },
    { { source = "" }, "'name' is needed" },
    { { name = "f", source = "", colour = 1 }, "no option 'colour'" },
    { { name = "f", source = 5 }, "'source' is a number, not a string" },
    { { file = "/nowhere/at_all.cu" }, "/nowhere/at_all.cu: No such file or directory" },
    { { name = "f", source = "", values = { x = {} } }, "value 'x' is a table" },
    { { name = "f", source = "", values = { ["a b"] = 1 } }, "'a b' is no name in C++" },
    { { name = "f", source = "", values = { x = 0 / 0 } }, "value 'x' is" },
    { { name = "f", source = "", values = { x = "a\nb" } }, "value 'x' is more than a line" },
    { { name = "f", source = "", types = { T = "f17" } }, "no element type 'f17'" },
    { { name = "f", source = "", types = { T = "make_layout" } },
      "no element type 'make_layout'" },
    { { name = "f", source = "", types = { T = 16 } }, "no element type '16'" },
    { { name = "f", source = "", layouts = { A = 1.5 } }, "layout 'A' is a number" },
    { { name = "f", source = "", index = 16 }, "'index' is 32 or 64" },
  } do
    it_compiles("refuses what it cannot use: " .. case[2], function()
      case[1].arch = "sm_80"
      assert.matches(case[2], error_of(case[1]), 1, true)
    end)
  end

  it_compiles("takes numbers and tables for compact layouts", function()
    local layouts = { A = 5, B = { 4, 8 }, C = { { 4, 2 }, 3 } }
    local names = { "A", "B", "C" }
    for _, name in ipairs(names) do layouts[name .. "_too"] = lutile.make_layout(layouts[name]) end
    local kernel = compile { arch = "sm_80", name = "f", layouts = layouts,
      source = kernel_source("", "static_assert(layout::B::cosize() == 32);") }
    for _, name in ipairs(names) do
      local function of(text) return kernel.source:match("struct " .. text .. " (%b{})") end
      assert.equal(of(name), (of(name .. "_too"):gsub(name .. "_too", name)))
    end
  end)

  it_compiles("places arguments where the machine code has its parameters", function()
    for _, bits in ipairs { 32, 64 } do
      local kernel = compile { arch = "sm_90a", name = "f", index = bits, types = { T = "f16" },
        layouts = { A = lutile.parse "(?4,8):(8,1)", S = lutile.parse "(4,8):(8,1)",
          B = lutile.parse "(?4,?8):(?8,1)" },
        source = kernel_source([[const float *x, bool b, layout::S s, layout::A a, short h,
          lutile::tensor<type::T, layout::S> ts, lutile::tensor<type::T, layout::A> ta,
          unsigned char c, lutile::tensor<type::T, layout::B> tb, double d, type::T t,
          layout::B bb, int n]],
          "*(float *)x = b + s(1) + a(0) + h + ts(1).bits + ta(1).bits + c + tb(1).bits + d"
            .. " + t.bits + bb(1) + n;") }
      local there = {} -- entries of the section .nv.info, EIATTR_KPARAM_INFO
      for entry in kernel:image():gmatch "\4\x17\x0c\0(............)" do
        local _, i, offset, size = ("<I4I2I2I4"):unpack(entry)
        there[2 * i + 1], there[2 * i + 2] = offset, size >> 18
      end
      assert.same(there, kernel:places())
    end
  end)

  -- LT070
  it_compiles("names an architecture that is none, or too old", function()
    assert.matches("arch 'turing' is none", error_of { arch = "turing", name = "f",
      source = kernel_source "" }, 1, true)
    local message = error_of { arch = "sm_20", name = "f", source = kernel_source "" }
    assert.matches("arch 'sm_20': NVRTC %d+%.%d compiles for sm_%d+ to sm_%d+", message)
  end)

  -- LT070
  it_compiles("falls back to PTX for an architecture that NVRTC does not know yet", function()
    local result = support.run_with_fake([[
local kernel = require "lutile.cuda".compile { arch = "sm_139", name = "f",
  source = 'extern "C" __global__ void f() {}' }
print(kernel:image():match "%.target [%w_]+")
]])
    assert.matches("^%.target sm_%d+\n", result.out)
    assert.matches("arch 'sm_139': NVRTC %d+%.%d knows none beyond sm_%d+: compiled to PTX for "
      .. "compute_%d+", result.err)
  end)

  -- LT071
  it_compiles("loads nothing where compiling fails", function()
    local result = support.run_with_fake([[
print(pcall(require "lutile.cuda".compile, { name = "f",
  source = 'extern "C" __global__ void f() { undefined_name; }' }))
]])
    assert.matches('identifier "undefined_name" is undefined', result.out, 1, true)
    assert.equal(0, support.count(result.log, "load"))
  end)

  -- LT074
  it_compiles("keeps the loops of a large tile loops", function()
    local tile = "(128,256):(1,128)"
    local kernel = compile { file = "copy_elements.cu", arch = "sm_90a",
      layouts = copy_layouts(tile, "(128,256):(256,1)"),
      types = { source = "f16", target = "f16" }, values = { converts = false } }
    assert.is_true(#kernel:image() < 32768)
  end)
end)
