-- What the tiled MMA and the numbers of a plan by mma.sync must keep to where a script has changed
-- them.

local lutile = require "lutile"
local operand_rules = require "lutile.plan.operand_rules"
local result = require "lutile.plan.result"
local tile = require "lutile.plan.tile"

local M = {}

local function fail(message, ...) error(message:format(...), 0) end

-- ---- Kinds -------------------------------------------------------------------------------------

function M.check_integer(_, x, path) tile.check_integers(path, x) end

local function threads_of(x)
  local good, threads = pcall(function() return x:get_thr_layout_vmnk() end)
  return good and threads
end

function M.check_mma(p, x, path)
  local threads = type(x) == "userdata" and threads_of(x)
  if not threads then fail("%s is %s, where a tiled MMA is needed", path, tostring(x)) end
  if x.name ~= p.atom then
    fail("%s is %s, and the plan is of atoms %s", path, tostring(x), p.atom)
  end
  if threads.shape[3] ~= 1 then
    fail("%s is %s: atoms side by side in K, whose sums nobody adds up", path, tostring(x))
  end
  if lutile.cosize(threads) ~= lutile.size(threads) or not lutile.is_injective(threads) then
    fail("%s is %s, where each of its threads must have a number from 0 to %d", path, tostring(x),
      lutile.size(threads) - 1)
  end
end

-- ---- Accumulators ------------------------------------------------------------------------------

-- Refuses values whose coordinates are not a thread's plus the value's.
local function check_parts(p, thread, value, c)
  local rows = p.tile[1]
  for t = 0, lutile.size(thread) - 1 do
    for v = 0, c.values - 1 do
      local index = thread(t) + value(v)
      local row, column = index % rows, index // rows
      if c.row(t) + c.row_step(v) ~= row or c.column(t) + c.column_step(v) ~= column then
        fail("mma is %s: value %d of thread %d is at (%d,%d) of the tile, and not at the sum of "
          .. "the thread's and the value's coordinates", tostring(p.mma), v, t, row, column)
      end
    end
  end
end

-- Refuses values that lie from the first of their piece, or of their run, otherwise than the kernel
-- takes for granted.
local function check_values(p, c)
  local of_word = p.acc == "f16" and 2 or 1
  local of_piece, run = result.registers_of_piece(p, p.atoms) * of_word, p.run_size
  for v = 0, c.values - 1 do
    local first, of_run = v // of_piece * of_piece, v // run * run
    local row, column = c.row_step(v), c.column_step(v)
    if row ~= c.row_step(first) + c.row_step(v - first)
      or column ~= c.column_step(first) + c.column_step(v - first)
      or row ~= c.row_step(of_run) or column ~= c.column_step(of_run) + v - of_run then
      fail("mma is %s: value %d of a thread is at (%d,%d) from its first, where runs of %d lie "
        .. "side by side, and pieces of %d alike", tostring(p.mma), v, row, column, run, of_piece)
    end
  end
end

local function check_starts(p, c)
  for t = 0, lutile.size(c.column) - 1 do
    if c.column(t) % p.run_size ~= 0 then
      fail("mma is %s: thread %d starts at column %d, where runs of %d are written",
        tostring(p.mma), t, c.column(t), p.run_size)
    end
  end
end

-- Refuses a tiled MMA whose sums the kernel would write elsewhere than they belong.
function M.check_sums(p)
  local thread, value = result.indices(p.mma, p.tile[1], p.tile[2])
  local c = result.layouts(p.mma, p.tile[1], p.tile[2])
  check_parts(p, thread, value, c)
  check_values(p, c)
  check_starts(p, c)
end

-- Refuses changed layouts and numbers that a kernel of mma.sync cannot follow.
function M.check_changed(p)
  M.check_sums(p)
  operand_rules.check(p.A, p.mma)
  operand_rules.check(p.B, p.mma)
  tile.check(p)
  p:block_text() -- which checks that offsets are sums of parts
end

return M
