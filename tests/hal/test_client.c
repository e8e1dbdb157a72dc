/* What devices ask of their client: the rows of the table, and what a device elsewhere lacks. */
#include "hal/hal.h"
#include "tap.h"

static bool replicas(uint64_t address, struct ir_replicas *out_replicas)
{
    (void)address, (void)out_replicas;
    return false;
}

static void failed(struct hal_domain *domain, const struct hal_fault_site *place)
{
    (void)domain, (void)place;
}

static unsigned count(const struct hal_client_ops *client, enum hal_client_reach reach)
{
    unsigned n = 0, at = 0;

    while (hal_client_ops_find(client, reach, &at))
        n++;
    return n;
}

int main(void)
{
    const struct hal_meter meter = {0};
    const struct hal_client_ops client = {
        .meter = &meter, .replicas = replicas, .program_replicas = replicas, .failed = failed};
    const struct hal_client_row *row;
    struct hal_device device;
    unsigned at = 0;

    row = hal_client_ops_find(&client, HAL_CLIENT_LOCAL, &at);
    eq_str(row ? row->name : "", "meter", "the first local one");
    row = hal_client_ops_find(&client, HAL_CLIENT_LOCAL, &at);
    eq_str(row ? row->name : "", "program_replicas", "the second");
    ok(!hal_client_ops_find(&client, HAL_CLIENT_LOCAL, &at), "there are no more");
    eq_u64(count(&client, HAL_CLIENT_REMOTABLE), 2, "others can be asked from elsewhere");
    eq_u64(count(NULL, HAL_CLIENT_LOCAL) + count(NULL, HAL_CLIENT_REMOTABLE), 0, "no client");
    hal_device_init(&device, NULL, &client);
    ok(device.client.meter == &meter && device.client.failed == failed, "a device has a copy");
    hal_device_fini(&device);
    hal_device_init(&device, NULL, NULL);
    eq_u64(count(&device.client, HAL_CLIENT_LOCAL), 0, "or nobody");
    hal_device_fini(&device);
    return done();
}
