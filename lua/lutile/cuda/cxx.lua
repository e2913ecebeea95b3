-- C++ text as its preprocessor takes it: which of it is comments and strings, and what it includes.

local M = {}

-- ---- Comments and strings ----------------------------------------------------------------------

local function end_of_line_comment(text, at)
  repeat
    at = text:find("\n", at + 1, true)
    if not at then return #text end
  until not text:sub(at - 2, at - 1):find "\\\r?$" -- a line that ends with \ goes on
  return at - 1
end

-- Where the literal ends whose first quote is at 'at': at its other quote; at the end of its line
-- where that has none.
local function end_of_literal(text, at, quote)
  local stops = "[\\\n" .. quote .. "]"
  local stop = text:find(stops, at + 1)
  while stop and text:sub(stop, stop) == "\\" do
    stop = text:find(stops, stop + (text:sub(stop + 1, stop + 2) == "\r\n" and 3 or 2))
  end
  return stop or #text + 1
end

-- Nil where it has no beginning; then whether it has an end.
local function end_of_raw_string(text, at)
  local mark = text:match('^"([^ ()\\%s]*)%(', at)
  if not mark then return nil end
  local _, stop = text:find((")%s\""):format(mark), at, true)
  return stop or #text + 1, stop ~= nil
end

local RAW = { R = true, LR = true, uR = true, UR = true, u8R = true }

-- Whether the quote in 1'000 may be taken for any other: what follows the line is the same. It is
-- taken so where #if leaves the line out.
local function is_sure_separator(text, at)
  local rest = text:match("^[^\n]*", at)
  return not (rest:find("/*", 1, true) or rest:find('R"', 1, true) or rest:find "\\\r?$")
end

-- The word, or the number with quotes in it, that ends before the place, and what stands before.
local function word_before(text, at)
  local before = text:sub(at < 200 and 1 or at - 199, at - 1)
  return before:match "([%w_.']*)$", before:match "([\"']?)[%w_]*$"
end

-- Where the string or character ends, nil where the quote separates digits; then whether that is
-- sure: what follows another literal may belong to it.
local function end_of_string(text, at, quote)
  local word, literal = word_before(text, at)
  if quote == "'" and word:find "^%d" and text:find("^[%w_]", at + 1) then
    return nil, is_sure_separator(text, at)
  end
  if quote == '"' and RAW[word:match "[%w_]*$"] then
    local stop, is_sure = end_of_raw_string(text, at)
    if stop then return stop, is_sure and literal == "" and not word:find "^%.?%d" end
  end
  local is_number = quote == "'" and word:find "'%.?%d"
  return end_of_literal(text, at, quote), not is_number or is_sure_separator(text, at)
end

-- What is blanked of the comment, string or spliced line at 'at', nothing where there is none;
-- where to go on; whether that is sure.
local function skip(text, at)
  local c, next_c = text:sub(at, at), text:sub(at + 1, at + 1)
  local stop, is_sure = nil, true
  if c == "\\" then
    stop = text:match("^\r?()\n", at + 1)
  elseif c == "/" and next_c == "/" then
    stop = end_of_line_comment(text, at)
  elseif c == "/" and next_c == "*" then
    stop = text:match("%*()/", at + 2) or #text
  elseif c ~= "/" then
    stop, is_sure = end_of_string(text, at, c)
    if stop then return at + 1, stop - 1, stop + 1, is_sure end
  end
  if stop then return at, stop, stop + 1, true end
  return at, at - 1, at + 1, is_sure
end

-- The text with spaces in the place of comments, of what strings hold and of the ends of lines that
-- go on: all else is where it was. Then whether the preprocessor surely agrees.
function M.blank(text)
  local pieces, done, is_sure = {}, 1, true
  local at = text:find "[\"'/\\]"
  while at do
    local from, to, next_at, is_sure_here = skip(text, at)
    is_sure = is_sure and is_sure_here
    if to >= from then
      pieces[#pieces + 1] = text:sub(done, from - 1)
      pieces[#pieces + 1] = (" "):rep(to - from + 1)
      done = to + 1
    end
    at = text:find("[\"'/\\]", next_at)
  end
  pieces[#pieces + 1] = text:sub(done)
  return table.concat(pieces), is_sure
end

-- ---- What is left out -------------------------------------------------------------------------

-- Calls left_out(from, to) for what '#if 0', and other branches after '#if 1', surely leave out. A
-- condition that is neither is nil in 'taken'.
local function each_left_out(blanked, left_out)
  local taken, depth, since, since_depth = {}, 0, nil, nil
  for at, word, rest, after in ("\n" .. blanked):gmatch "\n()[ \t]*#[ \t]*(%a+)([^\n]*)()" do
    at, after = at - 1, after - 1 -- in the text without the line's end before it
    local is_if, is_branch = word:find "^if", word:find "^el"
    if is_if then
      depth = depth + 1
      taken[depth] = word == "if" and rest:match "^%s*([01])%s*$" or nil
    end
    if since and since_depth == depth and not is_if and (is_branch or word == "endif") then
      left_out(since, at - 1)
      since = nil
    end
    local leaves = is_if and taken[depth] == "0" or is_branch and taken[depth] == "1"
    if leaves and not since then since, since_depth = after, depth end
    if word == "endif" then depth = depth - 1 end
  end
  if since then left_out(since, #blanked) end
end

-- The text that M.blank gives, with spaces also in the place of what '#if 0' and the like leave
-- out.
function M.blank_left_out(blanked)
  local pieces, done = {}, 1
  each_left_out(blanked, function(from, to)
    pieces[#pieces + 1] = blanked:sub(done, from - 1)
    pieces[#pieces + 1] = (" "):rep(to - from + 1)
    done = to + 1
  end)
  pieces[#pieces + 1] = blanked:sub(done)
  return table.concat(pieces)
end

-- ---- Includes ----------------------------------------------------------------------------------

-- Directives that read no file.
local HARMLESS = {}
for word in ("define undef if ifdef ifndef elif elifdef elifndef else endif pragma line error "
  .. "warning ident"):gmatch "%a+" do
  HARMLESS[word] = true
end

local SPACE = "[ \t\v\f\r]*"

-- The name in quotes or angles at 'from', as an entry of M.includes; nil for anything else.
local function name_at(text, from)
  local name, to = text:match('^"([^"\\\n]+)"()', from)
  local quoted = name ~= nil
  if not quoted then name, to = text:match("^<([^>\\\n]+)>()", from) end
  return name and { from = from, to = to - 1, name = name, quoted = quoted }
end

-- The same, perhaps after spaces and comments.
local function header_at(text, blanked, at)
  local header = name_at(text, (blanked:match("^" .. SPACE .. "()", at)))
  if not header then return nil end
  local seen, name = blanked:sub(header.from, header.to), header.name
  local wanted = header.quoted and '"' .. (" "):rep(#name) .. '"' or "<" .. name .. ">"
  return seen == wanted and header or nil
end

local function add_directives(text, blanked, list)
  local complete = true
  -- With a line end before it, what follows # is where # was.
  for at in ("\n" .. blanked):gmatch("[\n\r]" .. SPACE .. "()[#%%]") do
    local is_digraph = blanked:sub(at - 1, at - 1) == "%"
    local word, after = blanked:match("^" .. SPACE .. "([%w_]*)()", is_digraph and at + 1 or at)
    if is_digraph and blanked:sub(at, at) ~= ":" then
      word = "" -- a remainder
    end
    if word == "include" then
      local header = header_at(text, blanked, after)
      list[#list + 1] = header
      complete = complete and header ~= nil
    elseif not HARMLESS[word] and not word:find "^%d*$" then
      complete = false
    end
  end
  return complete
end

-- "defined(" or "#ifdef " before the place.
local function is_asked_for(blanked, at)
  local before = blanked:sub(at < 40 and 1 or at - 39, at - 1)
  return before:find "defined[ \t]*%(?[ \t]*$" or before:find "#[ \t]*ifn?def[ \t]+$"
end

local function add_questions(text, blanked, list)
  local complete = true
  for at, word, after in blanked:gmatch "()__has_([%w_]+)()" do
    local open = word == "include" and blanked:match("^" .. SPACE .. "%(()", after)
    local header = open and header_at(text, blanked, open)
    if header and blanked:find("^" .. SPACE .. "%)", header.to + 1) then
      list[#list + 1] = header
    elseif word:find "include" or word:find "embed" then
      complete = complete and is_asked_for(blanked, at) ~= nil
    end
  end
  return complete
end

-- Trigraphs, and lines spliced within what begins or ends a comment or a raw string.
local function is_odd(text)
  return text:find "%?%?[/=]" ~= nil or text:find '[/*R]\\\r?\n[/*"]' ~= nil
end

local function has(text, word) return text:find(word, 1, true) ~= nil end

-- Whether all words of a text can be seen, strings are not more than a line, and so are directives
-- that matter.
local function is_plain(text)
  return not (has(text, 'R"') or has(text, "??")
    or has(text, "\\") and text:find '[%w_/*]\\\r?\n[%w_/*]')
end

-- What stands before the place on its line; nil for a line that is long, or goes on from another.
local function line_before(text, at)
  local lines = at < 300 and "\n" .. text:sub(1, at - 1) or text:sub(at - 300, at - 1)
  local from = lines:match ".*\n()"
  if not from or lines:sub(1, from - 2):find "\\\r?$" then return nil end
  return lines:sub(from)
end

-- Whether a line is another directive, and no comment ends on it.
local function is_harmless(line)
  local word, rest = line:match "^[ \t]*#[ \t]*(%a+)(.*)$"
  return HARMLESS[word] and not rest:find("#", 1, true) and not rest:find("*/", 1, true)
end

-- The include of the word at from..to, as an entry of M.includes; false where it is none, as in a
-- comment; nil where only a closer look tells.
local function plain_include(text, from, to)
  local line = line_before(text, from)
  if not line or line:find "__has_$" then return nil end
  if line:find "^[ \t]*#[ \t]*$" then return name_at(text, (text:match("^[ \t]*()", to + 1))) end
  if line:find "[#%%]" and not is_harmless(line) then return nil end
  return false
end

-- The includes of a text, and perhaps some in comments; nil where only a closer look tells.
local function plain_includes(text)
  local list = {}
  if not is_plain(text) then return nil end
  for _, word in ipairs { "include", "import", "embed" } do
    local from, to = text:find(word, 1, true)
    while from do
      local header = plain_include(text, from, to)
      if header == nil or header and word ~= "include" then return nil end
      list[#list + 1] = header or nil
      from, to = text:find(word, to + 1, true)
    end
  end
  return list
end

-- The headers that the text includes, or asks for by __has_include, in their order: each with its
-- name, whether that is quoted, and where it stands, from its first quote or angle to its last.
-- Then whether these are all; else the compiler may read others, that only it knows.
function M.includes(text)
  local list = plain_includes(text)
  if list then return list, true end
  list = {}
  local blanked, is_sure = M.blank(text)
  local complete = add_directives(text, blanked, list) and is_sure
  complete = add_questions(text, blanked, list) and complete
  table.sort(list, function(a, b) return a.from < b.from end)
  return list, complete and not is_odd(text)
end

return M
