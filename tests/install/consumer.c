/* C99, the C header alone. */
#include "consumer.h"

int main(void) { return use_pooljit(); }
