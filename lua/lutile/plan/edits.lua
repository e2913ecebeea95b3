-- Plans that a script has changed before they run: what follows from the changes is worked out
-- again, and what no kernel can follow is refused.
--
-- A family of kernels has Plan.changeable, by paths such as "stages" or "A.shared": functions
-- (plan, value, path) that refuse what is nothing of the kind; plan:derive(was), which sets all
-- that follows from those fields, 'was' being the plan before; and plan:check_changed().

local nearest = require "lutile.nearest"
local shown = require "lutile.plan.shown"

local M = {}

local PARTS = { A = true, B = true, D = true } -- tables of the plan whose fields are looked at

local function fail(message, ...) error(message:format(...), 0) end

-- ---- What a plan was ---------------------------------------------------------------------------

-- As they were last checked: their fields, and how many; the same of their parts; contents of lists
-- of numbers; and 'plan', which has all of that.
local plans = setmetatable({}, { __mode = "k" })

local function copy_of(t)
  local copy, count = {}, 0
  for k, v in next, t do
    copy[k], count = v, count + 1
  end
  return copy, count
end

local function add_parts(was, p)
  for name in pairs(PARTS) do
    if p[name] then
      local part = { name = name }
      part.fields, part.count = copy_of(p[name])
      was.parts[#was.parts + 1], was.plan[name] = part, part.fields
    end
  end
end

local function add_lists(was, p)
  for k, v in next, p do
    if type(v) == "table" and math.type(v[1]) then
      local copy = copy_of(v)
      was.lists[#was.lists + 1], was.plan[k] = { now = v, was = copy }, copy
    end
  end
end

local places = {} -- of paths: part and field, or the field

-- The table that has the field of a path, and the field.
local function place(p, path)
  local at = places[path]
  if not at then
    local part, field = path:match "^(%a)%.(.*)$"
    at = { part = part, field = field or path }
    places[path] = at
  end
  return at.part and p[at.part] or p, at.field
end

-- What a run looks at, one after the other: table, field, value.
local function add_watched(was, p)
  local watched, keys, values, count = was.watched, was.keys, was.values, 0
  local function add(t, k, v)
    count = count + 1
    watched[count], keys[count], values[count] = t, k, v
  end
  for path in pairs(p.changeable) do
    local t, field = place(p, path)
    add(t, field, t[field])
  end
  for i, n in ipairs(p.tile or {}) do add(p.tile, i, n) end
  for _, name in ipairs { "A", "B", "tile" } do
    if p[name] then add(p, name, p[name]) end
  end
end

-- The plan is right as it is. Gives the plan.
function M.remember(p)
  local was = { parts = {}, lists = {}, watched = {}, keys = {}, values = {} }
  was.fields, was.count = copy_of(p)
  was.plan = setmetatable({}, { __index = was.fields })
  add_parts(was, p)
  add_lists(was, p)
  add_watched(was, p)
  plans[p] = was
  return p
end

local function has_fields(t, fields, count)
  for k, v in next, t do
    if fields[k] ~= v then return false end
    count = count - 1
  end
  return count == 0
end

local function is_unchanged(p, was)
  if not has_fields(p, was.fields, was.count) then return false end
  for _, part in ipairs(was.parts) do
    if not has_fields(p[part.name], part.fields, part.count) then return false end
  end
  for _, list in ipairs(was.lists) do
    if not has_fields(list.now, list.was, #list.was) then return false end
  end
  return true
end

-- The same of a plan that has run, whose kernel is there: of what may be changed alone, in little
-- time.
local function seems_unchanged(was)
  local watched, keys, values = was.watched, was.keys, was.values
  for i = 1, #watched do
    if watched[i][keys[i]] ~= values[i] then return false end
  end
  return true
end

-- ---- Changes -----------------------------------------------------------------------------------

local function is_same(now, was)
  if now == was then return true end
  if type(now) ~= "table" or type(was) ~= "table" then return false end
  for k, v in pairs(now) do if not is_same(v, was[k]) then return false end end
  for k in pairs(was) do if now[k] == nil then return false end end
  return true
end

local function keys_of(...)
  local names = {}
  for _, t in ipairs { ... } do
    for k in next, t do names[#names + 1] = tostring(k) end
  end
  table.sort(names)
  return names
end

-- Whether a new field is meant to say something: an option, or nearly the name of a field.
local function is_meant(k, fields, known)
  return not known or known[k] or type(k) == "string" and nearest(k, keys_of(fields, known)) ~= nil
end

-- Appends what differs between two tables, the second of which has these fields; a script may note
-- others for itself, if 'known', names of options, are there.
local function compare(list, prefix, now, was, fields, known)
  for k in next, fields do
    if not (prefix == "" and PARTS[k]) and not is_same(now[k], was[k]) then
      list[#list + 1] = { path = prefix .. k, now = now[k] }
    end
  end
  for k, v in next, now do
    if fields[k] == nil and is_meant(k, fields, known) then
      list[#list + 1] = { path = prefix .. tostring(k), now = v }
    end
  end
end

-- A list of {path =, now =}, sorted.
local function changes(p, was)
  local list = {}
  compare(list, "", p, was.plan, was.fields, p.option_names or {})
  for _, part in ipairs(was.parts) do
    local now = p[part.name]
    if type(now) ~= "table" then
      fail("%s is %s, where one of the plan's matrices is needed", part.name, tostring(now))
    end
    compare(list, part.name .. ".", now, part.fields, part.fields)
  end
  table.sort(list, function(x, y) return x.path < y.path end)
  return list
end

-- "A.shared is (64,64):(72,1), stages is 6"
local function text_of(p, list)
  local parts = {}
  for _, change in ipairs(list) do
    if p.changeable[change.path] then
      parts[#parts + 1] = ("%s is %s"):format(change.path, shown(change.now))
    end
  end
  return table.concat(parts, ", ")
end

-- ---- What follows ------------------------------------------------------------------------------

local function get(p, path)
  local t, field = place(p, path)
  return t[field]
end

-- A copy of the plan with what may be changed as it is now, and all else as it was.
local function draft(p, was, list)
  local q = setmetatable(copy_of(p), getmetatable(p))
  for _, part in ipairs(was.parts) do q[part.name] = copy_of(p[part.name]) end
  for _, change in ipairs(list) do
    local check = p.changeable[change.path]
    if check then
      check(p, change.now, change.path)
    else
      local t, field = place(q, change.path)
      t[field] = get(was.plan, change.path)
    end
  end
  return q
end

-- What may be changed, as text: without what TMA fixes, for which there are refusals alone.
local function changeable_names(p)
  local names = {}
  for path in pairs(p.changeable) do
    if not (p.fixed and p.fixed[path]) then names[#names + 1] = path end
  end
  table.sort(names)
  return table.concat(names, ", ")
end

local function refuse_new(p, name, value)
  local options = p.option_names or {}
  if options[name] then
    fail("%s is %s, and the plan was made without (plan:with{%s = %s} plans anew, where its "
      .. "template has that)", name, value, name, value)
  end
  local names = name:match "^%a%." and keys_of(p.changeable) or keys_of(p.changeable, options)
  local meant = nearest(name, names)
  fail("%s is %s, and a plan for %s has no such field (%s%s are what may be changed)", name, value,
    p.template, meant and ("did you mean '%s'? "):format(meant) or "", changeable_names(p))
end

local function refuse(p, change, followed)
  local name, value = change.path, shown(change.now)
  if followed == nil then refuse_new(p, name, value) end
  if p.option_names and p.option_names[name] then
    fail("%s is %s, and the plan was made for %s: other layouts and numbers follow from it "
      .. "(plan:with{%s = %s} plans anew)", name, value, shown(followed), name, value)
  end
  fail("%s is %s, and follows from the rest of the plan as %s (%s are what may be changed; "
    .. "plan:with{...} changes options)", name, value, shown(followed), changeable_names(p))
end

-- Refuses changes of what is not to be changed, where they are not what follows anyway.
local function check_others(p, q, list)
  for _, change in ipairs(list) do
    local followed = get(q, change.path)
    if not p.changeable[change.path] and not is_same(change.now, followed) then
      refuse(p, change, followed)
    end
  end
end

local PLACE = "^lutile[%w_.]*:%d+: " -- in a module, where algebra refuses

-- q[name](q, ...), whose errors say what was changed.
local function about(list, q, name, ...)
  local good, why = pcall(q[name], q, ...)
  if good then return end
  why = tostring(why):gsub(PLACE, "")
  if why:find("not enough memory", 1, true) then error(why, 0) end
  for _, change in ipairs(list) do
    if why:sub(1, #change.path + 4) == change.path .. " is " then fail("%s", why) end
  end
  fail("%s: %s", text_of(q, list), why)
end

-- The plan that the changes make, checked.
local function follow(p, was, list)
  local q = draft(p, was, list)
  about(list, q, "derive", was.plan)
  check_others(p, q, list)
  about(list, q, "check_changed")
  return q
end

local function write_back(p, q, was)
  for k, v in next, q do if not PARTS[k] then p[k] = v end end
  for _, part in ipairs(was.parts) do
    for k, v in next, q[part.name] do p[part.name][k] = v end
  end
end

local function add_reason(p, list)
  local text = text_of(p, list)
  if text == "" then return end
  p.reasons = copy_of(p.reasons or {})
  p.reasons[#p.reasons + 1] = "changed since: " .. text
end

-- Works out what follows from changes since the plan was last checked, if there are any; whether
-- there are. A plan that is refused stays as it is. 'again': it has run.
function M.settle(p, again)
  local was = plans[p]
  if not was or again and seems_unchanged(was) or is_unchanged(p, was) then return false end
  local list = changes(p, was)
  if #list > 0 then
    write_back(p, follow(p, was, list), was)
    add_reason(p, list)
  end
  M.remember(p)
  return #list > 0
end

return M
