// C++98, the C header alone.
#include "consumer.h"

int main() { return use_pooljit(); }
