--[[
The headers of a kernel. They are found and read here, as the preprocessor would, and handed to the
compiler: what it takes in is then known, and part of the cache's key. lutile's own have bare names.
A file of the script's has its path, with a '/' in it, and the texts that include it get that name
in the place of theirs: so two files of one name are told apart, as are lutile's and the script's.
]]

local cxx = require "lutile.cuda.cxx"
local driver = require "lutile.cuda.driver"

local M = {}

local GENERATED = "generated.cuh"

-- ---- Files -------------------------------------------------------------------------------------

local function read_file(path)
  local file, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local text, problem_of_reading = file:read "a"
  file:close()
  return text, problem_of_reading and ("%s: %s"):format(path, problem_of_reading)
end

local function own_text(name) return driver.embedded("kernels/" .. name) end

-- The folder of a path, and the rest.
local function split(path)
  local folder, name = path:match "^(.*)/([^/]*)$"
  return folder or ".", name or path
end

local function has_zero(text) return text:find("\0", 1, true) ~= nil end

local function error_directive(path, what)
  return ("#error %s %s\n"):format((path:gsub("%c", " ")), what)
end

-- What the compiler gets of the file at a path; nil where none is, or a folder. One that cannot be
-- handed over is an error where it is included, and only there.
local function text_at(path)
  local kind = driver.identify(path)
  if kind == "other" then return error_directive(path, "is no plain file") end
  local text = kind == "file" and read_file(path)
  if text and has_zero(text) then return error_directive(path, "has a zero byte in it") end
  return text or nil
end

-- A kernel that comes with lutile, by its bare name, or a file of the script's: its text, and its
-- folder, nil for lutile's own.
function M.find(name)
  local own = not name:find "/" and own_text(name)
  if own then return own, nil end
  local text, problem = read_file(name)
  if not text then error("compile: " .. problem, 0) end
  if has_zero(text) then error(("compile: %s has a zero byte in it"):format(name), 0) end
  return text, (split(name))
end

-- ---- Options -----------------------------------------------------------------------------------

-- Options that name a folder or a file: in themselves, or by the option after.
local PATHS = { { "folder", "^(%-I)=? *(.*)$" }, { "folder", "^(%-%-include%-path)=?(.*)$" },
  { "file", "^(%-%-pre%-include)=?(.*)$" }, { "file", "^(%-include)=?(.*)$" } }

local function match_path(option)
  local text = option:match "^%s*(.-)%s*$"
  for _, of in ipairs(PATHS) do
    local start, value = text:match(of[2])
    if start then return of[1], start, value end
  end
end

-- What else has the compiler read files: precompiled headers, lists of ptxas's options, macros that
-- ask for headers.
local function reads_files(option)
  return option ~= "--no-source-include" and option:find "include" or option:find "pch"
    or option:find "options%-file" or option:find "optf"
end

-- Calls found.folder(name) and found.file(name, index, start) for the options of each kind, 'start'
-- being what stands before the name; false where another one has the compiler read files.
local function each_path(options, found)
  local i, complete = 1, true
  while i <= #options do
    local kind, start, name = match_path(options[i])
    if kind and name == "" and i < #options then
      i, start, name = i + 1, "", options[i + 1]
    elseif kind then
      start = start .. "="
    elseif reads_files(options[i]) then
      complete = false
    end
    if kind then found[kind](name, i, start) end
    i = i + 1
  end
  return complete
end

-- ---- Names -------------------------------------------------------------------------------------

-- The path without the steps that lead nowhere, a '/' in it.
local function shorten(path)
  local steps = {}
  for step in path:gmatch "[^/]+" do
    if step == ".." and #steps > 0 and steps[#steps] ~= ".." then
      steps[#steps] = nil
    elseif step ~= "." then
      steps[#steps + 1] = step
    end
  end
  return (path:find "^/" and "/" or "./") .. table.concat(steps, "/")
end

-- The same for all paths of a file. What it includes depends on its folder: it is another one by a
-- link from elsewhere.
local function place_of(path)
  local folder, name = split(path)
  local _, identity = driver.identify(folder .. "/")
  return ("%s/%s"):format(identity, name)
end

-- Where a step before '..' is a link, the short path is that of another place. The compiler
-- shortens names for #pragma once: so there is no '..' in it.
local function plain(path)
  local short = shorten(path)
  if place_of(short) == place_of(path) then return short end
  return (path:gsub("%f[^/]%.%.%f[/]", "<..>"))
end

-- To the compiler, lutile's own are files of the current folder: #pragma once would take a script's
-- file of the same name there for the same.
local function name_of_file(path)
  local short = plain(path)
  local folder, name = split(short)
  if name ~= GENERATED and not own_text(name) then return short end
  return folder .. "/<script>/" .. name
end

-- ---- Reading -----------------------------------------------------------------------------------

-- names, texts: what the compiler gets; at: where each name is there; of_place: the name of each
-- file, by its place; of_path: the same by its paths, false for none; folders: of the options;
-- complete: no other file can be read.
local Reader = {}
Reader.__index = Reader

local function new_reader()
  return setmetatable({ names = { GENERATED }, texts = { "" }, at = { [GENERATED] = 1 },
    of_place = {}, of_path = {}, folders = {}, complete = true }, Reader)
end

function Reader:add(name, text)
  local at = #self.names + 1
  self.names[at], self.texts[at], self.at[name] = name, text, at
  return at
end

-- lutile's own texts include each other, and nothing else.
function Reader:add_own_of(text)
  for name in ("\n" .. text):gmatch '\n[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"' do
    self:find_own(name)
  end
end

function Reader:find_own(name)
  if self.at[name] then return name end
  local text = own_text(name)
  if not text then return nil end
  self:add(name, text)
  self:add_own_of(text)
  return name
end

-- Without lines of comments, as lutile has its own headers: see cmake/write_embedded.cmake.
local function without_comments(text)
  return (("\n" .. text):gsub("\n *%*[*/][^\n]*", "\n"):gsub("\n */%*[^\n]*", "\n"):sub(2))
end

-- Whether a file is one of lutile's own, or a copy of it.
local function is_own(base, text)
  local own = own_text(base)
  return own ~= nil and (text == own or without_comments(text) == own)
end

-- Its name for the compiler.
function Reader:add_file(path, text)
  local folder, base = split(path)
  if is_own(base, text) then return self:find_own(base) end
  local place = place_of(path)
  if self.of_place[place] then return self.of_place[place] end
  local name = name_of_file(path)
  self.of_place[place], self.of_path[path] = name, name
  local at = self:add(name, text)
  self.texts[at] = self:with_names(text, folder)
  return name
end

-- The name of the file at a path; nil where there is none.
function Reader:find_file(path)
  if self.of_path[path] == nil then
    local text = text_at(path)
    self.of_path[path] = text and self:add_file(path, text) or false
  end
  return self.of_path[path] or nil
end

-- As in C: the folder of the file that includes it, for a name in quotes, then those of options;
-- then lutile's own. A text that is no file has no folder; what it includes may be in the current.
function Reader:find(header, folder)
  local name = header.name
  if name:find "^/" then return self:find_file(name) end
  local found = header.quoted and folder and self:find_file(folder .. "/" .. name)
  for _, of_option in ipairs(self.folders) do
    found = found or self:find_file(of_option .. "/" .. name)
  end
  found = found or self:find_own(name)
  if not found and header.quoted and not folder then return self:find_file("./" .. name) end
  return found
end

-- The text of the script's with the names that the compiler has for what it includes.
function Reader:with_names(text, folder)
  local includes, complete = cxx.includes(text)
  local pieces, done = {}, 1
  for _, header in ipairs(includes) do
    local name = self:find(header, folder)
    if name and name:find '["\\\n]' then
      complete = false -- no text can include it
    elseif name and name ~= header.name then
      pieces[#pieces + 1] = ('%s"%s"'):format(text:sub(done, header.from - 1), name)
      done = header.to + 1
    end
  end
  self.complete = self.complete and complete
  pieces[#pieces + 1] = text:sub(done)
  return table.concat(pieces)
end

-- The options with the names that the compiler has for the files that they include.
function Reader:read_options(options)
  local files = {}
  local complete = each_path(options, {
    folder = function(name) self.folders[#self.folders + 1] = name end,
    file = function(name, i, start) files[#files + 1] = { name = name, i = i, start = start } end,
  })
  self.complete = self.complete and complete
  local named = table.move(options, 1, #options, 1, {})
  for _, file in ipairs(files) do
    local name = self:find({ name = file.name, quoted = true }, ".")
    if name then named[file.i] = file.start .. name end
  end
  return named
end

--[[
read{text =, folder =, is_own =, generated =, prelude =, options =}

What the compiler gets for the text of a kernel; 'folder' is its file's, nil for one without.
'generated' is included before it, as generated.cuh, with the script's prelude at its end. Gives the
names and texts of headers, the text and the options with the names that headers have there, and
whether the compiler may read other files too.
]]
function M.read(kernel)
  local reader = new_reader()
  local options = reader:read_options(kernel.options)
  reader:add_own_of(kernel.generated)
  local prelude = kernel.prelude and reader:with_names(kernel.prelude) .. "\n" or ""
  reader.texts[1] = kernel.generated .. prelude
  local text = kernel.text
  if kernel.is_own then
    reader:add_own_of(text)
  else
    text = reader:with_names(text, kernel.folder)
  end
  local asks = kernel.generated:find("__has_", 1, true)
  return { names = reader.names, texts = reader.texts, text = text, options = options,
    reads_files = not reader.complete or asks ~= nil }
end

return M
