#include "base/list.h"
#include "base/vec.h"
#include "tap.h"

struct pair {
    int a, b;
};

static void test_push_pop(void)
{
    HD_VEC(struct pair) pairs = {0};
    size_t bad = 0;

    for (int i = 0; i < 1000; i++)
        bad += !hd_vec_push(&pairs, (struct pair){i, -i});
    for (int i = 0; i < 1000; i++)
        bad += pairs.at[i].a != i || pairs.at[i].b != -i;
    eq_u64(bad, 0, "1000 pushed elements are there");
    eq_u64(pairs.len, 1000, "length");
    eq_u64(hd_vec_last(&pairs).a, 999, "last");
    eq_u64(hd_vec_pop(&pairs).a, 999, "pop");
    eq_u64(pairs.len, 999, "pop shortens");
    hd_vec_fini(&pairs);
    ok(!pairs.at && !pairs.len && !pairs.cap, "fini empties");
}

static void test_failure(void)
{
    HD_VEC(uint64_t) numbers = {0};
    const uint64_t *before;

    ok(hd_vec_reserve(&numbers, 3), "reserve");
    before = numbers.at;
    ok(!hd_vec_reserve(&numbers, SIZE_MAX / 4), "an overflowing size fails");
    ok(numbers.at == before, "and leaves the array alone");
    while (numbers.len < numbers.cap)
        ok(hd_vec_push(&numbers, numbers.len), "push within the capacity");
    hd_fault_set_alloc(1);
    ok(!hd_vec_push(&numbers, 1), "push reports a failed allocation");
    eq_u64(numbers.len, numbers.cap, "and keeps the length");
    ok(hd_vec_push(&numbers, 1), "and works the next time");
    hd_vec_fini(&numbers);
}

struct member {
    struct member *next, **link;
};

static void test_list(void)
{
    struct member m[3] = {{0}}, *list = NULL;

    for (int i = 0; i < 3; i++)
        hd_list_push(&list, &m[i]);
    ok(list == &m[2] && m[2].next == &m[1] && m[1].next == &m[0] && !m[0].next,
       "the last is first");
    hd_list_remove(&m[1]);
    ok(list == &m[2] && m[2].next == &m[0] && !m[1].link, "one leaves from the middle");
    hd_list_push(&list, &m[1]);
    ok(list == &m[1] && m[1].next == &m[2], "and comes back");
    hd_list_remove(&m[1]);
    hd_list_remove(&m[0]);
    ok(list == &m[2] && !m[2].next, "from the front, from the end");
    hd_list_remove(&m[2]);
    ok(!list, "none is left");
}

int main(void)
{
    test_list();
    test_push_pop();
    test_failure();
    return done();
}
