/*
** The command line's options: those of lua, with the same meaning, and -h.
*/
#include <string.h>

#include "cli.h"

static bool is_flag(char letter) { return letter != '\0' && strchr("hivEW", letter) != NULL; }

static bool takes_value(char letter) { return letter == 'e' || letter == 'l'; }

static void refuse(ltC_option *option, const char *why) {
  option->letter = 0;
  option->value = why;
}

/* --help and --version are -h and -v; --cuda-info has no short form. */
static void read_long_option(const char *text, ltC_option *option) {
  if (strcmp(text, "--help") == 0) {
    option->letter = 'h';
  } else if (strcmp(text, "--version") == 0) {
    option->letter = 'v';
  } else if (strcmp(text, "--cuda-info") == 0) {
    option->letter = LTC_CUDA_INFO;
  } else {
    refuse(option, "unknown option");
  }
}

/* The value stands in the same argument (-lname) or in the next (-l name). */
static void read_value(char **argv, int *i, ltC_option *option) {
  const char *text = argv[*i - 1];
  if (text[2] != '\0') {
    option->value = text + 2;
  } else if (argv[*i] != NULL) {
    option->value = argv[(*i)++];
  } else {
    refuse(option, "value missing after");
  }
}

bool ltC_read_option(char **argv, int *i, ltC_option *option) {
  const char *text = argv[*i];
  if (text == NULL || text[0] != '-' || text[1] == '\0') return false; /* a script, or '-' */
  ++*i;
  if (strcmp(text, "--") == 0) return false;
  *option = (ltC_option){text[1], NULL};
  if (text[1] == '-') {
    read_long_option(text, option);
  } else if (takes_value(text[1])) {
    read_value(argv, i, option);
  } else if (!is_flag(text[1]) || text[2] != '\0') {
    refuse(option, "unknown option");
  }
  return true;
}

ltC_options ltC_read_options(int argc, char **argv) {
  ltC_options options = {0};
  ltC_option option;
  int i = argc > 0 ? 1 : 0; /* no name either: nothing at all */
  int start = i;
  for (; ltC_read_option(argv, &i, &option); start = i) {
    switch (option.letter) {
      case 'h': options.help = true; break;
      case 'v': options.version = true; break;
      case LTC_CUDA_INFO: options.cuda_info = true; break;
      case 'i': options.interactive = true; break;
      case 'e': options.execute = true; break;
      case 'E': options.ignore_environment = true; break;
      case 'W': options.warnings = true; break;
      case 'l': break;
      default:
        options.mistake = option.value;
        options.argument = argv[start];
        return options;
    }
  }
  options.end = i;
  options.script = argv[i] != NULL ? i : argc;
  return options;
}
