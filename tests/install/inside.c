/* A shared library of somebody else's that has libpooljit.a inside, and one function of its own. */
#include <pooljit.h>

const char* inside_version(void) { return pooljit_version(); }
