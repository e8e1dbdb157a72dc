/*
 * What operations access that say so in their payload (ir_probed()): texels, by the code that finds
 * them (model/texture.h), matrices in shared memory that products read (model/matrix.h), replicas
 * of multicast objects (model/multimem.h).
 */
#ifndef HD_SAN_PAYLOAD_H
#define HD_SAN_PAYLOAD_H

#include "san/tool.h"

struct san_payload_to {
    /* With space and address as tools see them. */
    enum hd_status (*access)(void *user, const struct san_access *part);
    /* As san_tool.refused. */
    enum hd_status (*refused)(void *user, const struct san_refusal *refusal);
    void *user;
};

/*
 * TEX: texels that are read, or the place in the surface. Of what is no live object nothing is
 * told, because the device says so. The first error.
 */
enum hd_status san_texture_access(const struct san_cta *cta, const struct san_access *access,
                                  const struct san_payload_to *to);

/*
 * MMA and TENSOR: stretches of shared memory, by the first lane of a warp that executes it
 * together.
 */
enum hd_status san_matrix_access(const struct san_cta *cta, const struct san_access *access,
                                 const struct san_payload_to *to);

/*
 * MULTIMEM: an access of each replica, where the program has it (hal_device.program_replicas), and
 * of copies the source, in generic memory. What is no multimem address is refused.
 */
enum hd_status san_multimem_access(const struct san_cta *cta, const struct san_access *access,
                                   const struct san_payload_to *to);

#endif
