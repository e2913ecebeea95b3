-- Sums of a thread as C++: registers that PTX names, and operands made of them. NVVM takes longer
-- over a few hundred values in loops than over all else of a kernel; of these it sees no more than
-- a piece at a time.

local lutile = require "lutile"

local M = {}

local LINE = 98

-- f(i) for all i < count behind each other, as lines.
local function lines_of(count, indent, separator, f)
  local lines, line = {}, ""
  for i = 0, count - 1 do
    local item = f(i) .. (i < count - 1 and separator or "")
    if #indent + #line + #item > LINE then lines[#lines + 1], line = line, "" end
    line = line .. item
  end
  lines[#lines + 1] = line
  return lines
end

local function quoted(lines, indent)
  local out = {}
  for i, line in ipairs(lines) do out[i] = ('%s"%s"'):format(indent, line) end
  return table.concat(out, "\n")
end

-- Registers from 'first' on, as PTX has them in a list.
function M.names(name, first, count, indent)
  return quoted(lines_of(count, indent, ", ", function(i) return name .. first + i end), indent)
end

-- An instruction for each register: 'text' with $ for the register, %0 for variable 0 and # for its
-- number, which are 'first' and 0 for the first one.
local function instructions(text, first, count, indent)
  return quoted(lines_of(count, indent, " ", function(i)
    return (text:gsub("%%0%f[%D]", "%%" .. i):gsub("%$", tostring(first + i)):gsub("#", i))
  end), indent)
end

local function operands(constraint, count, indent)
  return (table.concat(lines_of(count, indent, ", ", function(i)
    return ('"%s"(d[%d])'):format(constraint, i)
  end), "\n" .. indent):gsub(" +\n", "\n"))
end

-- ---- Functions ---------------------------------------------------------------------------------

local INDENT = (" "):rep(8)

local ALL = [[
  /* %s */
  static DEVICE void %s() {
    asm volatile(
%s);
  }]]

-- 'text' for registers of 64 bits, where they are.
local function sized(text, s)
  return s.constraint == "l" and text:gsub("%.b32", ".b64") or text
end

local function all(comment, name, text, s)
  return ALL:format(comment, name, instructions(sized(text, s), 0, s.count, INDENT))
end

-- The instruction for the registers of the piece whose number is operand 'number': branches halve
-- the pieces from 'low' to before 'high'.
local function choose(lines, s, text, number, low, high)
  if high - low == 1 then
    lines[#lines + 1] = instructions(text, s.starts[low + 1], s.of_piece, INDENT)
    if high < #s.starts then lines[#lines + 1] = INDENT .. '"bra done;"' end
    return
  end
  local middle = (low + high) // 2
  lines[#lines + 1] = INDENT .. ('"setp.ge.u32 p, %%%d, %d; @p bra from%d;"'):format(number, middle,
    middle)
  choose(lines, s, text, number, low, middle)
  lines[#lines + 1] = INDENT .. ('"from%d:"'):format(middle)
  choose(lines, s, text, number, middle, high)
end

-- The same as one block, with other registers of its own and instructions that follow, if any.
local function by_piece(s, text, number, own, after)
  local lines = { INDENT .. ('"{ .reg .pred p;%s"'):format(own or "") }
  choose(lines, s, text, number, 0, #s.starts)
  lines[#lines + 1] = after and INDENT .. '"done:"\n' .. after .. "\n" .. INDENT .. '"}"'
    or INDENT .. '"done: }"'
  return table.concat(lines, "\n")
end

local READ = [[
  /* %s */
  static DEVICE void read(int piece, Register (&d)[%s]) {
    asm volatile(
%s
        : %s
        : "r"(piece));
  }]]

local READ_SCALED = [[
  /* The sums of a piece, times alpha. */
  static DEVICE void read_scaled(int piece, float alpha, float (&d)[kRegistersOfPiece]) {
    asm volatile(
%s
        : %s
        : "r"(piece), "f"(alpha));
  }]]

local READ_PAIRS = [[
  /* The sums of a piece, times alpha, as pairs of elements of the output. */
  static DEVICE void read_pairs(int piece, float alpha, unsigned (&d)[kRegistersOfPiece / 2]) {
    asm volatile(
%s
        : %s
        : "r"(piece), "f"(alpha));
  }]]

local WRITE = [[
  /* New sums of a piece. */
  static DEVICE void write(int piece, const Register (&d)[kRegistersOfPiece]) {
    asm volatile(
%s
        ::%s,
          "r"(piece));
  }]]

local function read(comment, count, text, s)
  return READ:format(comment, count, by_piece(s, text, s.of_piece),
    operands("=" .. s.constraint, s.of_piece, "          "))
end

local function read_sums(s)
  return read("The sums of a piece.", "kRegistersOfPiece", sized("mov.b32 %0, sum$;", s), s)
end

local function read_scaled(s)
  return READ_SCALED:format(by_piece(s, ("mul.f32 %%0, sum$, %%%d;"):format(s.of_piece + 1),
    s.of_piece), operands("=f", s.of_piece, "          "))
end

local function read_pairs(s)
  local pairs_of = s.of_piece // 2
  local function convert(i)
    return ("cvt.rn.%sx2.f32 %%%d, x%d, x%d;"):format(s.out, i, 2 * i + 1, 2 * i)
  end
  return READ_PAIRS:format(
    by_piece(s, ("mul.f32 x#, sum$, %%%d;"):format(pairs_of + 1), pairs_of,
      (" .reg .f32 x<%d>;"):format(s.of_piece),
      quoted(lines_of(pairs_of, INDENT, " ", convert), INDENT)),
    operands("=r", pairs_of, "          "))
end

local function write(s)
  return WRITE:format(by_piece(s, "mov.b32 sum$, %0;", s.of_piece),
    operands(s.constraint, s.of_piece, "          "))
end

local READS = [[
  static constexpr bool kReadsScaled = %s, kReadsPairs = %s;  /* there is read_scaled, read_pairs */

]]

local HEAD = [[
/*
** Sums of a thread: registers of PTX, of which C++ has a piece at once. As variables in loops they
** would take most of the time of compiling.
*/
struct Sums {
%s  /* Where a kernel starts: PTX knows names from there on. */
  static DEVICE void declare() { asm volatile("%s"); }]]

--[[
source{count =, starts =, of_piece =, constraint =, reads =, out =, clears =, in_runs =,
in_parts =}: functions for 'count' registers, of a type with that constraint in asm ("l": 64 bits,
else 32). A piece has 'of_piece' of them, from its start on. MMAs write to those of a run, if there
are runs, else to the sums. reads: as they are ("plain"); "scaled" where they are float, and so is
alpha; "pairs" where these become pairs of 'out', f16 or bf16; nil where no kernel asks. clears:
there may be no MMA that leaves nothing of what was in them.
]]
function M.source(s)
  local reads = s.reads and READS:format(s.reads == "scaled", s.reads == "pairs") or ""
  local parts = { HEAD:format(reads, sized(".reg .b32 sum<%d>;", s):format(s.count)
    .. (s.in_runs and (" .reg .b32 run<%d>;"):format(s.count) or "")) }
  local function add(text) table.move({ "", text }, 1, 2, #parts + 1, parts) end
  if s.clears then add(all("All are 0.", "clear", "mov.b32 sum$, 0;", s)) end
  if s.reads == "scaled" then add(read_scaled(s)) end
  if s.reads == "pairs" then add(read_pairs(s)) end
  if s.in_parts or s.reads == nil or s.reads == "plain" then add(read_sums(s)) end
  if s.in_parts then add(write(s)) end
  if s.in_runs then
    add(all("What MMAs have summed up in a run, added.", "add_run", "add.f32 sum$, sum$, run$;",
      s))
  end
  parts[#parts + 1] = "};"
  return table.concat(parts, "\n")
end

-- ---- Operands ----------------------------------------------------------------------------------

local OPERAND = [[
/*
** Sums as operand A of a next product, rounded to its type: value i is the accumulator that
** acc .. (~C .. A) gives, %s.
*/
struct P {
  static DEVICE void declare() { asm volatile(".reg .b32 p<%d>;"); }

  static DEVICE void convert() {
    asm volatile(
%s);
  }

%s
};]]

-- Two sums as the halves of a register, low before high.
local CONVERT = "cvt.rn.%sx2.f32 p%d, sum%d, sum%d;"
local CONVERT_BEFORE_80 = "{ .reg .b16 low, high; cvt.rn.%s.f32 high, sum%d; "
  .. "cvt.rn.%s.f32 low, sum%d; mov.b32 p%d, {low, high}; }"

local function convert(o, w)
  local low, high = o.values(2 * w), o.values(2 * w + 1)
  if o.arch >= 80 then return CONVERT:format(o.dtype, w, high, low) end
  return CONVERT_BEFORE_80:format(o.dtype, high, o.dtype, low, w)
end

--[[
operand{values =, dtype =, arch =, of_piece =}: registers of two numbers each, made of the sums that
'values', a layout, gives for them. A piece has 'of_piece' of them.
]]
function M.operand(o)
  local count, starts = lutile.size(o.values) // 2, {}
  for first = 0, count - 1, o.of_piece do starts[#starts + 1] = first end
  local lines = lines_of(count, INDENT, " ", function(w) return convert(o, w) end)
  return OPERAND:format(tostring(o.values), count, quoted(lines, INDENT),
    read("The registers of a piece, which is a tile along k.", "kRegistersOfTile",
      "mov.b32 %0, p$;", { starts = starts, of_piece = o.of_piece, constraint = "r" }))
end

return M
