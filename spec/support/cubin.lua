-- What a cubin says of its kernels: bytes of their stack frames, which lie in local memory. It is
-- an ELF file whose section .nv.info has records (format, attribute, size, symbol, value).

local M = {}

local FRAME_SIZE = "\x04\x11\x08\x00" -- a value of 8 bytes: the symbol, the bytes

-- Sections by name, as the text that they hold.
local function sections(image)
  local at = string.unpack("<I8", image, 0x28 + 1)
  local size, count, names = string.unpack("<I2I2I2", image, 0x3a + 1)
  local function header(i)
    local name, _, _, _, offset, length = string.unpack("<I4I4I8I8I8I8", image, at + i * size + 1)
    return name, offset, length
  end
  local _, start = header(names)
  local list = {}
  for i = 1, count - 1 do
    local name, offset, length = header(i)
    list[string.unpack("z", image, start + name + 1)] = image:sub(offset + 1, offset + length)
  end
  return list
end

-- The largest of all kernels.
function M.stack_bytes(image)
  local info, largest = sections(image)[".nv.info"], nil
  local found = info:find(FRAME_SIZE, 1, true)
  while found do
    largest = math.max(largest or 0, (string.unpack("<I4", info, found + 8)))
    found = info:find(FRAME_SIZE, found + 12, true)
  end
  return (assert(largest, "a cubin without frame sizes"))
end

return M
