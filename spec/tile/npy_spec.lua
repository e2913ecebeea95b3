-- .npy files: both orders, all types, both header versions, and files that are none.

local lutile = require "lutile"
local npy = require "lutile.npy"

local function counted(dtype, layout)
  local t = lutile.make_tensor(dtype, layout)
  lutile.transform(lutile.make_tensor(lutile.make_layout(lutile.size(t))), t,
    function(i) return i end)
  return t
end

local function file(header, data, version)
  version = version or 1
  local length = version == 1 and string.pack("<I2", #header) or string.pack("<I4", #header)
  return "\x93NUMPY" .. string.char(version, 0) .. length .. header .. data
end

describe("npy", function()
  for _, dtype in ipairs { "f16", "f32", "f64", "s8", "u8", "s16", "s32" } do
    for _, order in ipairs { "LayoutLeft", "LayoutRight" } do
      for _, fortran in ipairs { false, true } do
        it(("round trip of %s from %s, fortran_order %s"):format(dtype, order, fortran), function()
          local t = counted(dtype, lutile.make_layout({ 3, 5 }, lutile[order]))
          local back = assert(npy.decode(npy.encode(t, { fortran_order = fortran })))
          assert.equal(dtype, back.dtype)
          assert.equal(t.shape, back.shape)
          assert.equal(fortran and lutile.parse "(1,3)" or lutile.parse "(5,1)", back.stride)
          for i = 0, 14 do assert.equal(t(i), back(i)) end
        end)
      end
    end
  end

  it("writes NumPy's bytes", function()
    local bytes = npy.encode(counted("f32", lutile.make_layout { 2, 2 }))
    assert.equal("\x93NUMPY\1\0\118\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }",
      bytes:sub(1, 69))
    assert.equal(128 + 16, #bytes)
    assert.equal(string.pack("<ffff", 0, 2, 1, 3), bytes:sub(129))
  end)

  it("keeps complex numbers, vectors and arrays of more modes", function()
    local c = lutile.make_tensor("c64", 2)
    c[1] = { 1, -1 }
    assert.same({ 1.0, -1.0 }, { npy.decode(npy.encode(c))(1) })
    local t = counted("s32", lutile.make_layout { 2, 3, 4 })
    local back = npy.decode(npy.encode(t))
    assert.equal(lutile.parse "(2,3,4):(12,4,1)", back.layout)
    for i = 0, 23 do assert.equal(t(i), back(i)) end
    assert.equal(lutile.parse "5:1", npy.decode(npy.encode(counted("s8", 5))).layout)
  end)

  it("gives axes of extent 1 their own strides", function()
    assert.equal(lutile.parse "(1,4):(4,1)", npy.decode(npy.encode(counted("s8", { 1, 4 }))).layout)
  end)

  it("reads version 2, scalars and spaces of any kind", function()
    local header = "{'fortran_order':True,  'descr':'<i4','shape':(2,),}   \n"
    local t = assert(npy.decode(file(header, string.pack("<i4i4", 7, -8), 2)))
    assert.equal(-8, t(1))
    local scalar = "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n"
    assert.equal(2.5, npy.decode(file(scalar, string.pack("<d", 2.5)))(0))
  end)

  it("gives nil and the reason for what is no such file", function()
    local good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
    for _, case in ipairs {
      { "", "it is no .npy file" },
      { "\x93NUMPX" .. good, "it is no .npy file" },
      { "\x93NUMPY", "its version nil is not 1, 2 or 3" },
      { file(good, "", 9), "its version 9 is not 1, 2 or 3" },
      { file(good, "abc"), "it has 3 bytes of data, where its shape wants 8" },
      { file("{'descr': '<f2', 'fortran_order': False, 'shape': (1000000000, 1000), }", "abc"),
        "it has 3 bytes of data, where its shape wants 2000000000000" },
      { file("{'descr': '<f2', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""),
        "it has 0 bytes of data, where its shape wants inf" },
      { file("{'descr': '<f2', 'fortran_order': False, 'shape': (99999999999999999999,), }", ""),
        "its header is malformed" },
      { file(good:gsub("%(2,%)", "(0, 4611686018427387904, 4)"), ""),
        "make_layout: shape (0,4611686018427387904,4) is larger than 2^62" },
      { file("{}", ""), "its header is malformed" },
      { file(good:gsub("<f4", ">f4"), ""), "its type '>f4' is none that lutile has" },
      { file(good:gsub("%(2,%)", "(2,(3))"), ""), "its header is malformed" },
      { file(good:gsub("False", "Maybe"), ""), "its header is malformed" },
    } do
      local t, reason = npy.decode(case[1])
      assert.is_nil(t)
      assert.equal(case[2], reason)
    end
  end)

  it("reads and writes files", function()
    local path = os.tmpname()
    assert(npy.save(path, counted("f16", lutile.make_layout { 2, 2 })))
    assert.equal(3, assert(npy.load(path))(1, 1))
    os.remove(path)
    local t, message = npy.load(path)
    assert.is_nil(t)
    assert.equal(path .. ": No such file or directory", message)
    local saved, problem = npy.save("/nowhere/x.npy", counted("f16", 1))
    assert.is_nil(saved)
    assert.equal("/nowhere/x.npy: No such file or directory", problem)
  end)

  it("refuses types that NumPy does not have", function()
    assert.error_matches(function() npy.encode(lutile.make_tensor("bf16", 2)) end,
      "npy: .npy files have no type for bf16")
  end)
end)
