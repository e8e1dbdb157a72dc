/*
 * Checkpoints of processes: a process is kept from changing what it has on its devices while
 * something outside saves it (CRIU), or so that others have the machine.
 *
 *     running ──lock──► locked ──checkpoint──► checkpointed
 *        ▲                │ ▲                       │
 *        └─────unlock─────┘ └────────restore────────┘
 *
 * Locked: calls of the driver API wait, and all work that was submitted is complete. Memory of the
 * devices is memory of the process, and so is all that is known about them: a checkpoint has
 * nothing to move, it only says that nobody may unlock before a restore
 * (docs/decisions/0112-checkpoints.md).
 */
#ifndef HD_CORE_DEBUG_CHECKPOINT_H
#define HD_CORE_DEBUG_CHECKPOINT_H

#include "core/debug/control.h"

enum core_checkpoint_state { /* CUprocessState */
                             CORE_PROCESS_RUNNING,
                             CORE_PROCESS_LOCKED,
                             CORE_PROCESS_CHECKPOINTED,
};

/* Makes this process one that can be asked; after its devices are there. */
enum hd_status core_checkpoint_init(void) HD_MUST_CHECK;

#endif
