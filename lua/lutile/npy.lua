-- NumPy's .npy files as tensors: versions 1, 2 and 3, little endian, C and Fortran order.
-- Format: numpy.lib.format in NumPy's reference.

local lutile = require "lutile"

local M = {}

local MAGIC = "\x93NUMPY"
local ALIGNMENT = 64 -- of the data within the file

-- NumPy's names of the element types that both sides know.
local DTYPES = {
  ["<f2"] = "f16", ["<f4"] = "f32", ["<f8"] = "f64", ["<c16"] = "c64",
  ["|i1"] = "s8", ["|u1"] = "u8", ["<i2"] = "s16", ["<i4"] = "s32",
  ["|b1"] = "u8",
}

local DESCRIPTIONS = {
  f16 = "<f2", f32 = "<f4", f64 = "<f8", c64 = "<c16",
  s8 = "|i1", u8 = "|u1", s16 = "<i2", s32 = "<i4",
}

-- "(3, 4)" as {3, 4}; nil if it is anything else.
local function parse_shape(text)
  local shape = {}
  local rest = text:gsub("(%d+)%s*,?%s*", function(digits)
    local extent = math.tointeger(tonumber(digits))
    shape[#shape + 1] = extent
    return extent and "" or digits -- nothing has more than 64 bits of elements
  end)
  return rest == "" and shape or nil
end

-- The fields of the header's dictionary, a Python literal with three known keys.
local function parse_header(text)
  local description = text:match("'descr'%s*:%s*'([^']*)'")
  local order = text:match("'fortran_order'%s*:%s*(%a+)")
  local shape_text = text:match("'shape'%s*:%s*%(([%d%s,]*)%)")
  if not (description and order and shape_text) then return nil, "its header is malformed" end
  local dtype = DTYPES[description]
  if not dtype then return nil, ("its type '%s' is none that lutile has"):format(description) end
  local shape = parse_shape(shape_text)
  if not shape or (order ~= "True" and order ~= "False") then
    return nil, "its header is malformed"
  end
  return {
    dtype = dtype,
    shape = shape,
    fortran_order = order == "True",
    width = math.tointeger(tonumber(description:match "%d+")),
  }
end

-- Bytes of an array by its header, which may say anything: an integer, or a float beyond them.
local function size_of(header)
  local size = header.width
  for _, extent in ipairs(header.shape) do
    if size ~= 0 and extent > math.maxinteger // size then return math.huge end
    size = size * extent
  end
  return size
end

-- Where the header starts, and its length; by version the length has 2 or 4 bytes.
local function header_extent(bytes)
  if bytes:sub(1, #MAGIC) ~= MAGIC then return nil, "it is no .npy file" end
  local major = bytes:byte(#MAGIC + 1)
  if major == 1 and #bytes >= 10 then return 11, (string.unpack("<I2", bytes, 9)) end
  if (major == 2 or major == 3) and #bytes >= 12 then
    return 13, (string.unpack("<I4", bytes, 9))
  end
  return nil, ("its version %s is not 1, 2 or 3"):format(tostring(major))
end

-- The strides of an array's memory: also of axes of extent 1, which make_layout's own would drop.
local function strides_of(header)
  local strides, step = {}, 1
  local count = #header.shape
  for k = 1, count do
    local axis = header.fortran_order and k or count + 1 - k
    strides[axis] = step
    step = step * header.shape[axis]
  end
  return strides
end

-- A scalar is an array of one element.
local function layout_of(header)
  if #header.shape == 0 then return lutile.make_layout(1) end
  local strides = strides_of(header)
  if #header.shape == 1 then return lutile.make_layout(header.shape[1], strides[1]) end
  return lutile.make_layout(header.shape, strides)
end

--- Bytes of a .npy file as a tensor; nil and a reason if they are none.
function M.decode(bytes)
  local start, length = header_extent(bytes)
  if not start then return nil, length end
  local header, problem = parse_header(bytes:sub(start, start + length - 1))
  if not header then return nil, problem end
  local data, size = bytes:sub(start + length), size_of(header)
  if #data ~= size then
    return nil, ("it has %d bytes of data, where its shape wants %.0f"):format(#data, size)
  end
  local made, layout = pcall(layout_of, header)
  if not made then return nil, (layout:gsub("^[^:]*:%d+: ", "")) end
  return lutile.make_tensor(lutile.make_gmem_ptr(header.dtype, data), layout)
end

local function shape_text(shape)
  local extents = {}
  for i = 0, lutile.rank(shape) - 1 do
    extents[#extents + 1] = ("%d"):format(lutile.size(shape, i))
  end
  local closing = #extents == 1 and ",)" or ")"
  return "(" .. table.concat(extents, ", ") .. closing
end

-- Magic, version, length and dictionary, filled up so that the data is aligned.
local function encode_header(description, fortran_order, shape)
  local text = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }")
    :format(description, fortran_order and "True" or "False", shape_text(shape))
  local before = #MAGIC + 2 + 2
  local padding = -(before + #text + 1) % ALIGNMENT
  text = text .. (" "):rep(padding) .. "\n"
  return MAGIC .. "\1\0" .. string.pack("<I2", #text) .. text
end

--- A tensor as the bytes of a .npy file. Top-level modes are the array's axes.
--- options.fortran_order: first axis fastest.
function M.encode(tensor, options)
  local description = DESCRIPTIONS[tensor.dtype]
  if not description then error(("npy: .npy files have no type for %s"):format(tensor.dtype), 2) end
  local fortran_order = options ~= nil and options.fortran_order or false
  local order = fortran_order and lutile.LayoutLeft or lutile.LayoutRight
  local axes = {}
  for i = 0, lutile.rank(tensor) - 1 do axes[#axes + 1] = lutile.size(tensor, i) end
  local compact = lutile.make_tensor(tensor.dtype, lutile.make_layout(axes, order))
  lutile.copy(tensor, compact)
  return encode_header(description, fortran_order, tensor.shape) .. compact.data:bytes()
end

--- The tensor in a .npy file; nil and a message if it cannot be read.
function M.load(path)
  local file, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local bytes = file:read("a")
  file:close()
  if not bytes then return nil, path .. ": cannot be read" end
  local tensor, reason = M.decode(bytes)
  if not tensor then return nil, path .. ": " .. reason end
  return tensor
end

--- Writes a tensor as a .npy file; true, or nil and a message.
function M.save(path, tensor, options)
  local bytes = M.encode(tensor, options)
  local file, problem = io.open(path, "wb")
  if not file then return nil, problem end
  local written, reason = file:write(bytes)
  local closed, closing_reason = file:close()
  if not written or not closed then return nil, path .. ": " .. (reason or closing_reason) end
  return true
end

return M
