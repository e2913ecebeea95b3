-- Bank conflicts of a plan's operands: how often warps pass over the banks of shared memory when
-- they write a tile there and when they load from it, and how often would do.

local lutile = require "lutile"
local operand = require "lutile.plan.operand"

local M = {}

local WARP, BANKS, WORD = 32, 32, 4
local ROW_BYTES = 16 -- of a matrix that ldmatrix loads

-- Passes over the banks for accesses of 'width' bytes at the offsets of lanes, in bytes, and the
-- least for as many words. A pass serves as many lanes as fill all banks, neighbours; words that
-- lanes share count once.
function M.count(offsets, width)
  local passes, least = 0, 0
  local lanes = math.min(#offsets, BANKS * WORD // math.max(width, WORD))
  for first = 1, #offsets, lanes do
    local seen, of_bank, words, most = {}, {}, 0, 0
    for lane = first, math.min(first + lanes - 1, #offsets) do
      for word = offsets[lane] // WORD, (offsets[lane] + width - 1) // WORD do
        if not seen[word] then
          local bank = word % BANKS
          seen[word], words, of_bank[bank] = true, words + 1, (of_bank[bank] or 0) + 1
          most = math.max(most, of_bank[bank])
        end
      end
    end
    passes, least = passes + most, least + (words + BANKS - 1) // BANKS
  end
  return passes, least
end

-- The sum over all steps of a warp whose lanes, 'lanes' of them, start at thread(lane).
local function count_steps(o, thread, step, lanes, width)
  local passes, least = 0, 0
  for s = 0, lutile.size(step) - 1 do
    local offsets, first = {}, step(s)
    for lane = 0, math.min(lanes, lutile.size(thread)) - 1 do
      offsets[lane + 1] = o.shared(thread(lane) + first) * o.bytes
    end
    local p, l = M.count(offsets, width)
    passes, least = passes + p, least + l
  end
  return passes, least
end

-- The first warp's copies to shared memory.
function M.of_copies(o)
  return count_steps(o, o.copy[0], o.copy[1][1], WARP, o.vector * o.bytes)
end

-- The first warp's loads to registers. Of ldmatrix, the lanes that have a row's address.
function M.of_loads(o, mma)
  local thread, step, _, per_load = operand.load_layouts(o, mma)
  if o.load == "matrices" or o.load == "transposed" then
    return count_steps(o, thread, step, 8 * per_load, ROW_BYTES)
  end
  return count_steps(o, thread, step, WARP, o.load == "whole" and o.word or o.bytes)
end

-- Passes of a plan over the least there are, by what they are for: "copies of A" and so on.
function M.of_plan(p)
  local ratios = {}
  for _, name in ipairs { "A", "B" } do
    local passes, least = M.of_copies(p[name])
    ratios["copies of " .. name] = passes / least
    passes, least = M.of_loads(p[name], p.mma)
    ratios["loads of " .. name] = passes / least
  end
  return ratios
end

return M
