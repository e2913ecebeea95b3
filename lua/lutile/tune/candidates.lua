-- Plans to choose from: the model's own, and those of a space of options around it, as far as the
-- algebra lets them be.

local space = require "lutile.plan.space"
local tuned = require "lutile.plan.tuned"

local M = {}

local function sorted_names(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- ---- Describing --------------------------------------------------------------------------------

-- The cartesian product of a table of options and values: a list of tables of changes.
function M.product(values)
  local list = { {} }
  for _, name in ipairs(sorted_names(values)) do
    local longer = {}
    for _, changes in ipairs(list) do
      for _, value in ipairs(values[name]) do
        local more = { [name] = value }
        for k, v in pairs(changes) do more[k] = v end
        longer[#longer + 1] = more
      end
    end
    list = longer
  end
  return list
end

local function check_values(values)
  for name, list in pairs(values) do
    if type(name) ~= "string" or type(list) ~= "table" or #list == 0 then
      error(("candidates: option '%s' has no list of values"):format(tostring(name)), 0)
    end
  end
end

local function check_list(list)
  for i, changes in ipairs(list) do
    if type(changes) ~= "table" then
      error(("candidates: number %d is a %s, not a table of options"):format(i, type(changes)), 0)
    end
  end
end

-- What is to be tried beside the model's plan: what the script says, a list of tables of options or
-- a table of options and the values of each; else the space of the plan's family, without the
-- options that the script has said.
function M.describe(model, said)
  if said ~= nil and type(said) ~= "table" then
    error(("candidates: a table expected, got %s"):format(type(said)), 0)
  end
  if said and #said > 0 then
    check_list(said)
    return said
  end
  if said then
    check_values(said)
    return M.product(said)
  end
  local family = space.family(model)
  if not family then
    error(("nothing is known of what to try for %s: candidates = {...} would say"):format(
      model.template), 0)
  end
  local values = {}
  for name, list in pairs(family.space(model)) do
    if model.options[name] == nil then values[name] = list end
  end
  return M.product(values)
end

-- ---- Pruning -----------------------------------------------------------------------------------

-- All that a search decides on, of a plan.
function M.choices(p)
  local family, choices = space.family(p), {}
  for name in pairs(family and family.fields or {}) do choices[name] = p[name] end
  return choices
end

-- Whether all that is changed is a choice of the model's kernels.
local function is_of_family(model, changes)
  local family = space.family(model)
  if changes.template and changes.template ~= model.template then return false end
  for name in pairs(changes) do
    if not (family and family.fields[name]) then return false end
  end
  return family ~= nil
end

-- Changes with what they leave to the model: its template unless they are another's options, and
-- what is as in its choice.
local function complete(model, changes)
  if not is_of_family(model, changes) then return changes end
  local all = { template = model.template }
  for _, name in ipairs(space.family(model).inherited or {}) do all[name] = model[name] end
  for k, v in pairs(changes) do all[k] = v end
  return all
end

local function plan_of(model, changes)
  local options = {}
  for k, v in pairs(model.options) do options[k] = v end
  for k, v in pairs(changes) do options[k] = v end
  local good, p = pcall(model.plan, options)
  if good then return p end
  if tostring(p):find("not enough memory", 1, true) then error(p, 0) end
  return nil, (tostring(p):gsub("^lutile[%w_.]*:%d+: ", ""))
end

local function obstacle(p, model)
  local family = space.family(p)
  return family and family.obstacle and family.obstacle(p, model) or nil
end

-- The candidates, the model's plan first and none twice: changes of the model's options, what is
-- chosen in all as text, and the plan, or the reason why it is pruned.
function M.prune(model, list)
  local all, seen = {}, {}
  local function add(changes, p, why)
    local text = tuned.text(p and M.choices(p) or changes)
    if seen[text] then return end
    seen[text] = true
    all[#all + 1] = { changes = changes, text = text, plan = not why and p or nil, pruned = why }
  end
  add({}, model)
  for _, said in ipairs(list) do
    local changes = complete(model, said)
    local p, why = plan_of(model, changes)
    add(changes, p, p and obstacle(p, model) or why)
  end
  return all
end

return M
