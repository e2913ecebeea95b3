/*
** Line editing with libedit, which is opened at run time.
*/
#ifndef LUTILE_CLI_EDIT_H
#define LUTILE_CLI_EDIT_H

#include "cli.h"

/*
** Pushes an editor that closes itself when collected, and returns it; NULL, and pushes nil, where
** libedit is missing. 'history_file' is NULL or lives as long as the editor.
*/
ltC_editor *ltC_open_edit(lua_State *L, int complete, const char *history_file);

/* LTC_LINE: pushes the line. To be called in the C function that opened the editor. */
ltC_input ltC_edit_line(ltC_editor *editor, const char *prompt);

void ltC_edit_remember(ltC_editor *editor, const char *line);

#endif
