/* A receiver that does not receive: the process waits once, goes on, and tells what was lost. */
#include "fake.h"
#include "receiver.h"
#include "tap.h"

enum {
    FINDINGS = 2000, /* more than a socket keeps */
    READ_FIRST = 50,
};

static struct receiver receiver;
static struct fake fake;

/* Findings that arrive, and how many others there are by the records behind them. */
static uint64_t drain(uint64_t *out_lost)
{
    uint64_t findings = 0;

    for (const char *text = receiver_next(&receiver); text[0]; text = receiver_next(&receiver)) {
        const char *count = strstr(text, "\"count\": ");
        findings += strstr(text, "\"record\": \"finding\"") != NULL;
        if (strstr(text, "\"record\": \"lost\"") && count)
            *out_lost += strtoull(count + 9, NULL, 10);
        if (strstr(text, "\"event\": \"end\""))
            break;
    }
    return findings;
}

int main(void)
{
    uint64_t lost = 0;

    if (!ok(receiver_init(&receiver, "slow") && fake_init(&fake), "a socket and a kernel"))
        return done();
    receiver_env(&receiver, "tools=memcheck record-limit=0");
    eq_u64(san_record_start(), HD_OK, "records start");
    ok(receiver_accept(&receiver), "somebody is there, and does nothing");
    struct san_finding finding = fake_invalid_write(&fake);
    for (int i = 0; i < FINDINGS; i++)
        san_report(&finding);
    ok(true, "the process is not held for ever");
    for (int i = 0; i < READ_FIRST; i++) /* room for what is left to tell */
        receiver_next(&receiver);
    san_record_stop();
    uint64_t findings = READ_FIRST - 1 + drain(&lost); /* the first was the process's own */
    ok(lost > 0, "some were lost");
    diag("%llu arrived, %llu were lost", (unsigned long long)findings, (unsigned long long)lost);
    ok(findings + lost >= FINDINGS, "and it was told how many");
    fake_fini(&fake);
    receiver_fini(&receiver);
    return done();
}
