-- What a launch came to, as text: memory traffic by line of the script, conflicts, resources.

local M = {}

local MAX_REGISTERS = 255 -- of a thread, as all architectures have it

local HEADINGS = { "where", "space", "access", "requests", "bytes", "cost", "least", "saves" }

-- One line of the table: what the hardware spends on it, what a better layout would.
local function row_of(access)
  local cost, least, unit
  if access.space == "shared" then
    cost, least, unit = access.wavefronts, access.wavefronts - access.conflicts, " wavefronts"
  else
    cost, least, unit = access.sectors, access.needed_sectors, " sectors"
  end
  local saves = cost > least and ("<- %.0f%%"):format(100 * (cost - least) / cost) or ""
  return { access.where, access.space, access.access, tostring(access.requests),
    tostring(access.bytes), cost .. unit, tostring(least), saves }
end

local function widths_of(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  return widths
end

local function format_row(row, widths)
  local cells = {}
  for i, cell in ipairs(row) do
    local padding = (" "):rep(widths[i] - #cell)
    cells[i] = (i <= 3 or i == 8) and cell .. padding or padding .. cell
  end
  return (table.concat(cells, "  "):gsub("%s+$", ""))
end

--- Sums over a report's accesses: shared wavefronts and conflicts, global sectors and those needed.
function M.totals(report)
  local totals = { wavefronts = 0, conflicts = 0, sectors = 0, needed_sectors = 0, bytes = 0 }
  for _, access in ipairs(report.accesses) do
    for name, sum in pairs(totals) do totals[name] = sum + (access[name] or 0) end
  end
  return totals
end

--- The text that report prints.
function M.format(report)
  local rows = { HEADINGS }
  for _, access in ipairs(report.accesses) do rows[#rows + 1] = row_of(access) end
  local widths, lines = widths_of(rows), {}
  for i, row in ipairs(rows) do lines[i] = format_row(row, widths) end
  local totals, grid, block = M.totals(report), report.grid, report.block
  local registers = (report.register_bytes + 3) // 4
  lines[#lines + 1] = ("grid (%d,%d,%d), block (%d,%d,%d): %d bytes of registers a thread (%d "
    .. "registers), %d bytes of shared memory a block"):format(grid[1], grid[2], grid[3],
    block[1], block[2], block[3], report.register_bytes, registers, report.shared_bytes)
  if registers > MAX_REGISTERS then
    lines[#lines + 1] = ("<- a thread can have %d registers: %d of its fragments' would spill to "
      .. "local memory"):format(MAX_REGISTERS, registers - MAX_REGISTERS)
  end
  lines[#lines + 1] = ("shared: %d wavefronts, %d of them bank conflicts; global: %d sectors, %d "
    .. "needed; %.4g operations"):format(totals.wavefronts, totals.conflicts, totals.sectors,
    totals.needed_sectors, report.operations)
  return table.concat(lines, "\n")
end

--- Prints what a launch came to: report(launch(kernel, options, ...)).
function M.report(report)
  if type(report) ~= "table" or not report.accesses then
    error("report: what launch returns expected (nil if it ran without checks)", 3)
  end
  print(M.format(report))
end

return M
