/*
 * Between the files that deal with control flow and functions.
 */
#ifndef HD_JIT_GEN_FLOW_GEN_FLOW_H
#define HD_JIT_GEN_FLOW_GEN_FLOW_H

#include "jit/gen/gen.h"

/* gen_nodes.c: decides the mode, makes nodes and barrier sites, finds values that need slots. */
enum hd_status gen_nodes_build(struct gen *g);

/* gen_stored.c: may a block load what another one stores, as far as its addresses tell? */
bool gen_reads_stored(struct gen *g);

/* gen_regions.c: sets by_region and what belongs to it. After gen_nodes_build(). */
enum hd_status gen_regions_find(struct gen *g);

/* gen_order.c: fills in regions.descends. */
enum hd_status gen_order_find(struct gen *g, uint32_t nsuspends);

/* ---- gen_cta.c: the body's parameters, and its callers */
LLVMTypeRef gen_body_type(struct gen_unit *u);
void gen_body_values(struct gen *g);
void gen_run_warp(struct gen_unit *u);
void gen_run_cta(struct gen_unit *u);

/* ---- gen_coarsen.c: code for several warps at once, or for half of one */
bool gen_coarsen_fits(const struct gen_request *req); /* can there be such code at all? */
bool gen_halves_fit(const struct gen_request *req, enum jit_launch_class cls);
/* After gen_nodes_build(): is it possible, and worth while, for as many as the unit has? */
bool gen_coarsen_wanted(struct gen *g);

/* ---- gen_bound.c: regions that only the first warps work in */
void gen_bound_find(struct gen *g); /* after gen_regions_find() and slots; makes its own */
/* At the end of a node that bounds its region; `works` (i1): some lane takes edge `work`. */
void gen_bound_note(struct gen *g, LLVMValueRef works);
LLVMValueRef gen_bound_state(struct gen *g, LLVMValueRef state); /* with the note, to return */
/* The edge that only threads take whose tid.x is *out_threads or more; -1: neither. */
int gen_bound_edge(const struct gen *g, const struct ir_instr *branch, uint32_t *out_threads);
/* What a warp can leave out that has nothing to do: instructions, and suspend points. */
bool gen_bound_is_nothing(const struct gen *g, const struct ir_instr *in);
bool gen_bound_suspend_is_nothing(struct gen *g, const struct ir_instr *stop);

/* ---- gen_unroll.c: regions warp by warp without loops, so that shared memory is in registers */
void gen_unroll_find(struct gen *g); /* after gen_bound_find() */
/* Are all its lanes' addresses in shared memory multiples of size_B, whatever they are? */
bool gen_pattern_is_aligned(struct gen *g, const struct ir_instr *in, uint64_t size_B);

/* ---- gen_once.c: what the first warp of a region does for all */
/* Makes a slow operation once, if it is one on values of the whole CTA. */
bool gen_once_pure(struct gen *g, const struct ir_instr *in);
/* Where the load's elements are kept for the warps that follow; NULL = every warp loads. */
LLVMValueRef gen_once_slot(struct gen *g, const struct ir_instr *in);
/* The place to load from: `memory` in the first warp, the slot in the others. */
LLVMValueRef gen_once_from(struct gen *g, LLVMValueRef slot, unsigned element, LLVMValueRef memory);
void gen_once_keep(struct gen *g, LLVMValueRef slot, unsigned element, LLVMValueRef x);
void gen_once_filled(struct gen *g, LLVMValueRef slot); /* after the last element */

/* ---- gen_mask.c */
LLVMValueRef gen_mask_from_bits(struct gen *g, LLVMValueRef bits);
LLVMValueRef gen_bits_load(struct gen *g, LLVMValueRef slot);
void gen_bits_store(struct gen *g, LLVMValueRef bits, LLVMValueRef slot);
/* i1: any lane, of bits, of masks, of bits in slots. */
LLVMValueRef gen_any_bits(struct gen *g, LLVMValueRef const bits[GEN_HALVES]);
LLVMValueRef gen_any_in(struct gen *g, LLVMValueRef const mask[GEN_HALVES]);
LLVMValueRef gen_any_stored(struct gen *g, LLVMValueRef const slot[GEN_HALVES]);
void gen_mask_set_alive(struct gen *g); /* the current mask is: every living lane */
void gen_pend_add(struct gen *g, struct gen_node *node, LLVMValueRef const edge[GEN_HALVES]);
/* Node of the sweep that continues region `conv` at or after `from`; NULL = none. */
struct gen_node *gen_sweep_next(struct gen *g, uint32_t from, uint32_t conv);
LLVMBasicBlockRef gen_sweep_target(struct gen *g, uint32_t from, uint32_t conv);
/* Only the node before it in the sweep sends lanes to node `n`. */
bool gen_node_follows(struct gen *g, uint32_t n);
/* Do lanes end on the way out of a divergent node, or go where they end on their own? */
bool gen_node_ends_lanes(struct gen *g, const struct gen_node *node);
uint32_t gen_pred_of_edge(const struct ir_block *from, uint32_t edge);
void gen_term(struct gen *g, struct gen_node *node, const struct ir_instr *in);

/* ---- gen_live.c: values across suspend points */
struct gen_live_set;
/* What gets across the suspend point, and how; NULL = out of memory. */
const struct gen_live_set *gen_live_at(struct gen *g, const struct ir_instr *stop);
/* Suspend points are numbered in the order of blocks. */
uint32_t gen_live_number(const struct gen *g, const struct gen_live_set *c);
/* Anything in the warp's frame, at this suspend point or on the way to it. */
bool gen_live_saves(const struct gen *g, const struct gen_live_set *c);
/* On an edge: `phi` becomes `val`, made from `source`, in the frame, too, if that is its place. */
void gen_live_phi(struct gen *g, const struct ir_value *phi, const struct ir_value *source,
                  const struct gen_val *val);
/* Does the value get across a barrier? */
bool gen_live_keeps(struct gen *g, const struct ir_instr *bar, const struct ir_value *v);
void gen_live_save(struct gen *g, const struct gen_live_set *c);
void gen_live_restore(struct gen *g, const struct gen_live_set *c);

/* ---- gen_suspend.c: suspend points and barriers */
/* A new state of the warp that goes on at `target`; returns it as i32. */
LLVMValueRef gen_resume_add(struct gen *g, LLVMBasicBlockRef target, enum jit_stop stop);
/* The warp suspends: returns with the state, after lanes that have left for an end of their own. */
void gen_suspend_return(struct gen *g, LLVMValueRef state);
LLVMValueRef gen_barrier_field(struct gen *g, LLVMValueRef id, uint64_t member);
/* Operand `s`, which is the same for all lanes that arrive together. */
LLVMValueRef gen_bar_operand(struct gen *g, const struct ir_instr *in, uint32_t s);
/* Counts the lanes in; returns the generation to wait for to pass. */
LLVMValueRef gen_bar_arrive(struct gen *g, const struct ir_instr *in, LLVMValueRef id);
void gen_bar_result(struct gen *g, const struct ir_instr *in, LLVMValueRef id);

/* ---- gen_spin.c: loops that wait, in structured code */
/* Can the function, whose shapes say `waits`, have such code? */
bool gen_spins_fit(struct gen *g);
/* Where to go, if lanes want another iteration of the loop: to its header, by way of a suspend
 * point after some iterations. */
LLVMBasicBlockRef gen_spin_iteration(struct gen *g, uint32_t loop);
/* The same, at the beginning of a node that heads a loop which lanes leave together. */
void gen_spin_enter(struct gen *g, const struct gen_node *node);
/* May what the value holds get lost at such a suspend point before it is read in block `at`? */
bool gen_spin_loses(struct gen *g, const struct ir_value *v, const struct ir_block *at);

/* ---- gen_dispatch.c */
/* A barrier parks its lanes; they become pending at the next node when it has opened. */
void gen_park(struct gen *g, struct gen_node *node, const struct ir_instr *in);
void gen_note_poll(struct gen *g);
/* Lanes (i16 of the halves) have waited to some end: others run before the warp goes on. */
void gen_take_turns(struct gen *g, LLVMValueRef const passed[GEN_HALVES]);
/* The node is over: goes on at `next` in this sweep, or ends it for gen_take_turns(). */
void gen_node_leave(struct gen *g, const struct gen_node *node, LLVMBasicBlockRef next);
/* i1: the members of the node's warp operation that are alive have all come. */
LLVMValueRef gen_members_here(struct gen *g, struct gen_node *node,
                              LLVMValueRef const pend[GEN_HALVES]);
/* End of a sweep: go round again, stop, or end. */
void gen_wrap(struct gen *g);

/* ---- gen_lane_serial.c: regions that run lane by lane */
/* Chooses them and gives their nodes one common `test`. Needs slots. */
void gen_lane_serial_find(struct gen *g);
/* Would the code of one warp run that block so? Without slots, so it may say yes once too often. */
bool gen_lane_serial_pays(struct gen *g, const struct ir_block *block);
/* Generates node `n` if it is part of such a region, and says whether it is. */
bool gen_lane_serial_node(struct gen *g, uint32_t n);

/* The value in the first lane of the current mask. */
LLVMValueRef gen_first_active(struct gen *g, const struct ir_value *v);

/* gen_call.c: arguments and results of device functions in memory. */
void gen_store_args(struct gen *g);
void gen_entry_mask(struct gen *g);
void gen_store_results(struct gen *g, const struct ir_instr *ret);
/* The LLVM function of a device function, generating it if need be. */
LLVMValueRef gen_device_function(struct gen *g, const struct ir_func *func);

/* gen_main.c: what of LLVM's is needed throughout; the kernel and all that it calls. */
void gen_types_init(struct gen_unit *u);
enum hd_status gen_unit_build(struct gen_unit *u);
/* Generates `func` into `fn`, as deep in calls; a kernel fills u->body. */
enum hd_status gen_function(struct gen_unit *u, const struct ir_func *func, LLVMValueRef fn,
                            unsigned depth);
void gen_llvm_init(void);

/* gen_attributes.c */
const char *gen_cpu_name(enum jit_path path);
/* Those that all functions have. */
void gen_function_attributes(struct gen_unit *u, LLVMValueRef fn);
void gen_attribute_add(struct gen_unit *u, LLVMValueRef fn, LLVMAttributeIndex at, const char *name,
                       uint64_t value);

/* gen_count.c: of code that counts, before LLVM optimises it. */
void gen_count_apart(struct gen_unit *u);

/* gen_edge.c: room for what an edge's phis become, until the next edge; NULL: no memory, or no
 * phis. */
struct gen_val *gen_phi_room(struct gen *g, const struct ir_block *b, uint32_t *out_nphis);

#endif
