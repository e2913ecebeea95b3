-- What 'lutile --cuda-info' prints, there or missing: driver, NVRTC, devices, the cache of kernels.

local cuda = require "lutile.cuda"
local driver = require "lutile.cuda.driver"

local M = {}

local function amount(bytes)
  for _, unit in ipairs { "bytes", "KiB", "MiB" } do
    if bytes < 1024 then
      return (unit == "bytes" and "%d %s" or "%.1f %s"):format(bytes, unit)
    end
    bytes = bytes / 1024
  end
  return ("%.1f GiB"):format(bytes)
end

local function library(version, path, reason)
  if version then return ("CUDA %s, %s"):format(version, path) end
  return "none: " .. reason
end

local function device(is_there, d)
  if not is_there then return "no answer: " .. d end
  return ("%s, compute capability %s, %d multiprocessors, %s of memory, %s of L2, %s of shared "
    .. "memory a block"):format(d.name, d.compute_capability, d.multiprocessors, amount(d.memory),
    amount(d.l2_cache), amount(d.shared_memory_most))
end

local function cache(is_there, c)
  if not is_there then return "none: " .. c end
  local folder = c.folder ~= "" and c.folder or "none"
  local text = ("%s: %d kernels, %s of at most %s"):format(folder, c.entries, amount(c.size),
    amount(c.limit))
  return c.reason and text .. " (" .. c.reason .. ")" or text
end

-- The lines, as a list.
function M.lines()
  local info = cuda.info()
  local lines = {
    "driver    " .. library(info.driver, info.driver_path, info.driver_reason),
    "NVRTC     " .. library(info.compiler, info.compiler_path, info.compiler_reason),
  }
  local there, why = cuda.available()
  if not there then lines[#lines + 1] = "devices   none: " .. why end
  for i = 0, cuda.count() - 1 do
    lines[#lines + 1] = ("device %-3d%s"):format(i, device(pcall(driver.device_properties, i)))
  end
  lines[#lines + 1] = "cache     " .. cache(pcall(cuda.cache))
  return lines
end

function M.print()
  print(table.concat(M.lines(), "\n"))
end

return M
