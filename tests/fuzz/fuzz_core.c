/*
 * Core dumps of kernels, as `heddle gdb --core` opens them; of what opens, what a debugger asks
 * first is answered. corpus/core is made by mkcore.py.
 */
#include <unistd.h>

#include "dbg/private.h"
#include "fuzz/fuzz.h"

static void ask(const char *packet)
{
    struct hd_buf reply;

    hd_buf_init(&reply);
    (void)dbg_packet(packet, strlen(packet), &reply);
    hd_buf_fini(&reply);
}

static void ask_monitor(const char *command)
{
    struct hd_buf text;

    hd_buf_init(&text);
    dbg_monitor(command, &text);
    hd_buf_fini(&text);
}

/* Memory of its own frame: registers, and variables. */
static void ask_memory(void)
{
    const struct interp_thread *t = dbg_thread(dbg.focus);
    char packet[64];

    if (!t)
        return;
    snprintf(packet, sizeof(packet), "m%llx,40", (unsigned long long)dbg_sp(t));
    ask(packet);
    snprintf(packet, sizeof(packet), "m%llx,40", (unsigned long long)(dbg_sp(t) + DBG_LOCALS));
    ask(packet);
    snprintf(packet, sizeof(packet), "m%llx,8", (unsigned long long)DBG_SHARED);
    ask(packet);
    snprintf(packet, sizeof(packet), "m%llx,80", (unsigned long long)DBG_SHARED_WINDOW);
    ask(packet);
    ask("m7f0000000000,40");
}

static void look(void)
{
    static const char *const tables[] = {"stop",        "focus",   "launch",   "registers 0",
                                         "registers 1", "kernels", "blocks",   "warps",
                                         "lanes",       "threads", "barriers", "managed"};

    dbg_core_stop(&dbg.stop);
    dbg.focus = dbg.stop.tid ? dbg.stop.tid : DBG_HOST_TID;
    dbg.stopped = dbg.attached = true;
    ask("?");
    ask("g");
    ask("qXfer:threads:read::0,1000");
    ask("qXfer:libraries:read::0,1000");
    for (size_t i = 0; i < HD_COUNT_OF(tables); i++)
        ask_monitor(tables[i]);
    ask_memory();
    dbg.stopped = dbg.attached = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    dbg.pid = getpid();
    if (dbg_core_open((const char *)bytes, size_B) == HD_OK)
        look();
    dbg_core_close();
    return 0;
}
