/*
 * What a process writes: PID.counts in the session's folder, text, a line for each thing, fields
 * that tabulators separate. A launch is written at once, when it is over:
 *
 *     L correlation grid_id begin_ns end_ns gx gy gz bx by bz cx cy cz static_B dynamic_B name
 *     I classes issued lanes on taken divergent ops window_B WORDS.. ptx_line line form function
 *       file
 *     E
 *     H correlation grid_id threads clock_ns switches faults EVENTS.. percent
 *     W text
 *
 * L: the launch, times of CLOCK_MONOTONIC. I: an instruction of its PTX that somebody executed:
 * its set of enum ir_count_class, warps that issued it and their lanes, lanes for which its guard
 * held, operations of matrix products, bytes of matrices that wgmma reads from shared memory, then
 * IR_COUNT_ACCESS_LIST for each space. E: the launch is complete; without it the lines
 * behind L count for nothing. Tabulators and ends of lines in names are written as blanks.
 *
 * H, between launches: what threads of the host did for one, counted or not: how many, their
 * processor time, context switches, page faults, COUNT_HOST_LIST (host.h; -1: not known) and for
 * how much of the time these were counted. W: which of them cannot be, and why.
 */
#ifndef HD_COUNT_FILE_H
#define HD_COUNT_FILE_H

#define COUNT_FILE_SUFFIX ".counts"
/* Numbers behind L, and behind I. */
#define COUNT_FILE_LAUNCH 15
#define COUNT_FILE_HOST   12
#define COUNT_FILE_INSTR  (8 + IR_COUNT_SPACES * IR_COUNT_ACCESS_WORDS + 2)

#endif
