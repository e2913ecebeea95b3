-- C++ text as its preprocessor takes it: comments and strings, and what is included.

local cxx = require "lutile.cuda.cxx"

describe("blanked C++", function()
  for _, case in ipairs {
    { "a /* b */ c", "a         c", "a comment" },
    { "a /* b\nc */ d", "a           d", "a comment of two lines is one space" },
    { "a // b \"\nc", "a       \nc", "the rest of a line" },
    { "a // b \\\nc\nd", "a         \nd", "the rest of a line that goes on" },
    { 'f("/*"); /* x */', 'f("  ");        ', "no comment in a string" },
    { [[f("\"//", '"', '\'')]], [[f("    ", ' ', '  ')]], "escapes and characters" },
    { "1'000 /* ' */ 'x'", "1'000         ' '", "digits apart" },
    { 'R"(/*")" /* x */', 'R"     "        ', "a raw string" },
    { 'u8R"x()")x" //', 'u8R"      "   ', "a raw string with a mark" },
    { "don't /* x\n\"/* y\n2' /* z", "don'      \n\"    \n2'     ", "the line after a lone quote" },
    { "'\\\n/* x\n/**/'", "'      \n    '", "the line that goes on after a lone quote" },
    { "a \\\nb \\\r\nc", "a   b    c", "spliced lines" },
    { "a / b \\ c /", "a / b \\ c /", "nothing" },
    { "a /* b", "a     ", "a comment that does not end" },
  } do
    it("has spaces in their place: " .. case[3], function()
      assert.equal(case[2], cxx.blank(case[1]))
    end)
  end
end)

describe("C++ without what is left out", function()
  for _, case in ipairs {
    { "#if 0\na\n#endif b\nc", "#if 0   #endif b\nc" },
    { "x\n # if 1 \na\n # else\nb\n # endif\nc", "x\n # if 1 \na\n # else    # endif\nc" },
    { "#if 1\na\n#elif X\nb\n#else\nc\n#endif", "#if 1\na\n#elif X   #else   #endif" },
    { "#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif",
      "#if 0" .. (" "):rep(24) .. "#else\nc\n#endif" },
    { "#ifdef 0\na\n#else\nb\n#endif", "#ifdef 0\na\n#else\nb\n#endif" },
    { "#if 0 + 1\na\n#else\nb\n#endif", "#if 0 + 1\na\n#else\nb\n#endif" },
    { "#endif\n#else\n#if 0\na", "#endif\n#else\n#if 0  " },
  } do
    it("has spaces in its place: " .. case[1]:gsub("\n", "\\n"), function()
      assert.equal(case[2], cxx.blank_left_out(case[1]))
    end)
  end
end)

describe("the includes of C++", function()
  local function names(text)
    local list, complete = cxx.includes(text)
    for i, header in ipairs(list) do
      local open, close = '"', '"'
      if not header.quoted then open, close = "<", ">" end
      assert.equal(open .. header.name .. close, text:sub(header.from, header.to))
      list[i] = header.name
    end
    return table.concat(list, " "), complete
  end

  for _, case in ipairs {
    { '#include "a.h"\n  # include <b/c.h> // d\n', "a.h b/c.h" },
    { 'int x;\n#include "a.h"\n#define include "b.h"', "a.h" },
    { '// #include in words\n#include "a.h"', "a.h" },
    { '/* x */ #include "a.h"', "a.h" },
    { '#/* x */include/*\n*/<a.h>', "a.h" },
    { '%: include "a.h"', "a.h" },
    { 'x = y\n% include;', "" },
    { 'const char *x = "\\\n#include \\"a.h\\"";', "" },
    { 'R"(\n#include "a.h"\n)"\n#include "b.h"', "b.h" },
    { '/* "\n*/ #include "a.h" /* " */', "a.h" },
    { "#if __has_include(<a.h>) && __has_include ( \"b.h\" )\n#include <c.h>\n#endif",
      "a.h b.h c.h" },
    { "#if defined(__has_include)\n#endif\n#ifdef __has_include\n#endif", "" },
    { "#if __has_builtin(x) || __has_cpp_attribute(nodiscard)\n#endif", "" },
    { "#endif // of what it includes\n#pragma once\n# 12\n#\n", "" },
    { "#if 0\ndon't look into dir/*\n\"/*\n2' /*\n#endif\n/**/ #include <a.h>", "a.h" },
    { "/**/ #define A 1'000 // '\n#include <a.h>", "a.h" },
    { "#define A 1 + \\\n  2\n#include <a.h>", "a.h" },
  } do
    it("are all known: " .. case[1]:gsub("\n", "\\n"), function()
      assert.same({ case[2], true }, { names(case[1]) })
    end)
  end

  for _, text in ipairs {
    "#include A", "#include_next <a.h>", "#import <a.h>", '#embed "a.h"', "#inc\\\nlude <a.h>",
    '#include "a\\b.h"', "#if __has_include(A)", "#define A(x) __has_include(x)",
    "#if __has_include_next(<a.h>)", "#if __has_embed(<a.h>)", "??=include <a.h>",
    "// ??/\n#include A", "/\\\n* */ #include A /\\\n*", 'x; /* */ #include "a.h" A\n #include A',
    "/*\n#endif */ #include A", "\r#include A", "# \\\ninclude A",
    "/* " .. ("x"):rep(400) .. " */ #include A", "/* */ #include <a//b.h>",
    "#if 0\n100's /*\n#endif\n/**/ #include <a.h> // */", "/**/ #include <a.h>\n1'0 R\"(",
    "/**/ #include <a.h>\n R\"(", "/**/ #include <a.h>\n\"\"R\"(\n)\"",
    "/**/ #include <a.h>\n''0'a /*'*/", "/**/ #include <a.h>\n1.R\"(\n)\"",
  } do
    it("may be others: " .. text:gsub("\n", "\\n"):sub(1, 60), function()
      assert.is_false((select(2, names(text))))
    end)
  end
end)
