/*
 * The vendor's ptxas, started by a client (XLA's compiler does, from its wheel): what it makes is
 * machine code, which no device here runs. Where `heddle run` has set HEDDLE_PTXAS, this process
 * becomes that one. An assembler that nvcc starts stays what it is: its code goes into programs for
 * others to run. docs/decisions/0103-what-clients-look-for.md
 */
#ifndef HD_PRELOAD_ASSEMBLER_H
#define HD_PRELOAD_ASSEMBLER_H

/* Returns when this process is no such assembler. */
void assembler_replace(char **argv);

#endif
