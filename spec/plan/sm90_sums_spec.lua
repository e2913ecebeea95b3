-- The PTX by which gemm_sm90's sums are read and written: run here, instruction by instruction.

local gemm_sm90 = require "lutile.plan.gemm_sm90"

-- The strings of the asm in a function of the plan's, as one.
local function asm_of(block, name)
  local body = block:match("DEVICE void " .. name .. "(%b().-)\n  }")
  local lines = {}
  for text in body:match "asm volatile%((.-)\n        :":gmatch '"([^"]*)"' do
    lines[#lines + 1] = text
  end
  return table.concat(lines, " ")
end

-- Instructions with their predicates, and where labels are.
local function parse(asm)
  local list, labels = {}, {}
  for text in asm:gsub("[{}]", ""):gsub("(%l+%d*):", ";:%1;"):gmatch "%s*([^%s;][^;]*);" do
    if text:sub(1, 1) == ":" then labels[text:sub(2)] = #list + 1 else list[#list + 1] = text end
  end
  return list, labels
end

-- What is moved for a piece, which is operand 'number': pairs of a register and a variable, that is
-- an operand, or an x of a pair of elements; then these pairs, with their x.
local function moved(asm, number, piece)
  local list, labels = parse(asm)
  local at, p, pairs_of, converted = 1, false, {}, {}
  while list[at] do
    local text = list[at]
    local operand, bound = text:match "^setp%.ge%.u32 p, %%(%d+), (%d+)$"
    local predicate, label = text:match "^(@?p?) ?bra (%w+)$"
    if operand then
      assert.equal(number, math.tointeger(operand))
      p = piece >= math.tointeger(bound)
    elseif label then
      if predicate == "" or p then at = labels[label] - 1 end
    elseif text:find "^cvt" then
      local pair, high, low = text:match "^cvt%.rn%.b?f16x2%.f32 %%(%d+), x(%d+), x(%d+)$"
      converted[#converted + 1] = { math.tointeger(pair), math.tointeger(low),
        math.tointeger(high) }
    elseif not text:find "^%.reg " then
      local sum, variable = text:match "sum(%d+)", text:match "[%%x](%d+)"
      assert.truthy(text:find "^mov%.b32 " or text:find "^mul%.f32 ")
      pairs_of[#pairs_of + 1] = { math.tointeger(sum), math.tointeger(variable) }
    end
    at = at + 1
  end
  return pairs_of, converted
end

-- The sums that a thread writes, chunk by chunk: 'values' of a register.
local function wanted(p, values)
  local list, of_atom = {}, p.tile[2] // 2
  for atom = 0, p.atoms - 1 do
    for chunk = 0, p.D.chunks - 1 do
      local first = math.min(chunk * p.D.columns, p.tile[2] - p.D.columns) // 2
      for value = 0, p.D.columns // 2 - 1, values do
        list[#list + 1] = (atom * of_atom + first + value) // values
      end
    end
  end
  return list
end

local CASES = {
  ["a chunk at once"] = { { dtype = "f16", bias = "row" }, "read_scaled" },
  ["halves of chunks"] = { { dtype = "f16", tile = { 128, 192 }, ping_pong = true, reads_c = true },
    "read_scaled" },
  ["chunks that share columns"] = { { dtype = "bf16", tile = { 128, 176 }, ping_pong = true,
    epilogue = "-x" }, "read_scaled" },
  ["one chunk"] = { { dtype = "tf32", tile = { 64, 64 } }, "read_scaled" },
  ["pairs, a chunk at once"] = { { dtype = "f16" }, "read_pairs" },
  ["pairs, halves of chunks"] = { { dtype = "f16", tile = { 128, 192 }, ping_pong = true },
    "read_pairs" },
  ["pairs, chunks that share columns"] = { { dtype = "bf16", tile = { 128, 176 },
    ping_pong = true }, "read_pairs" },
  ["pairs, one chunk"] = { { dtype = "e4m3", out = "bf16", tile = { 64, 64 } }, "read_pairs" },
  ["two sums in a register"] = { { dtype = "f16", acc = "f16" }, "read" },
  ["sums of bytes"] = { { dtype = "s8" }, "read" },
  ["parts"] = { { dtype = "f16", tile = { 128, 192 }, ping_pong = true, splits = 2 }, "read",
    "write" },
}

describe("sums of gemm_sm90", function()
  for what, case in pairs(CASES) do
    local p = gemm_sm90.new(case[1])
    local block = p:block()
    local of_piece = math.tointeger(block:match "kRegistersOfPiece = (%d+);")
    local registers = wanted(p, p.acc == "f16" and 2 or 1)
    for i = 2, #case do
      it(("are those of each piece: %s, %s"):format(what, case[i]), function()
        local asm = asm_of(block, case[i])
        local number = case[i] == "read_pairs" and of_piece // 2 or of_piece -- behind the results
        for piece = 0, #registers // of_piece - 1 do
          local list, converted = moved(asm, number, piece)
          for j, pair in ipairs(converted) do
            assert.same({ j - 1, 2 * j - 2, 2 * j - 1 }, pair)
          end
          assert.equal(case[i] == "read_pairs" and of_piece // 2 or 0, #converted)
          assert.equal(of_piece, #list)
          for j, pair in ipairs(list) do
            assert.same({ registers[piece * of_piece + j], j - 1 }, pair)
          end
        end
      end)
    end
  end

  it("are known to PTX, each once", function()
    local block = gemm_sm90.new { dtype = "e4m3", promote = 4, tile = { 128, 128 } }:block()
    assert.truthy(block:find('".reg .b32 sum<64>; .reg .b32 run<64>;"', 1, true))
    assert.truthy(block:find("{\"\n      \"run0, run1,", 1, true))
  end)
end)
