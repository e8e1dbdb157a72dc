/*
 * Nodes of graphs in the runtime: what they were given is told, what is changed is done; edges,
 * clones, user objects.
 */
#include "runtime_fixture.h"

enum { N = 64 };

static cudaGraph_t graph;
static cudaGraphExec_t exec;
static unsigned *a, *b; /* managed */

static void begin(void)
{
    memset(a, 0, N * 4);
    memset(b, 0, N * 4);
    eq_error(cudaGraphCreate(&graph, 0), cudaSuccess, "graph");
}

static void run(const char *what)
{
    eq_error(cudaGraphLaunch(exec, NULL), cudaSuccess, "launch: %s", what);
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
}

static void make(void)
{
    eq_error(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess, "instantiate");
}

static void end(void)
{
    eq_error(cudaGraphExecDestroy(exec), cudaSuccess, "destroy");
    eq_error(cudaGraphDestroy(graph), cudaSuccess, "destroy");
}

static struct cudaMemsetParams fill_of(void *dst, unsigned value, size_t width)
{
    return (struct cudaMemsetParams){
        .dst = dst, .value = value, .elementSize = 4, .width = width, .height = 1};
}

static void test_fill(void)
{
    struct cudaMemsetParams p, got;
    enum cudaGraphNodeType type = 0;
    cudaGraphNode_t node;

    begin();
    p = fill_of(a, 7, 4);
    eq_error(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &p), cudaSuccess, "fill");
    eq_error(cudaGraphMemsetNodeGetParams(node, &got), cudaSuccess, "ask");
    ok(got.dst == a && got.value == 7 && got.width == 4 && got.elementSize == 4, "as it was made");
    eq_error(cudaGraphNodeGetType(node, &type), cudaSuccess, "type");
    eq_u64(type, cudaGraphNodeTypeMemset, "a fill");
    p = fill_of(a, 8, 2);
    eq_error(cudaGraphMemsetNodeSetParams(node, &p), cudaSuccess, "change it");
    make();
    run("changed before");
    ok(a[0] == 8 && a[1] == 8 && !a[2], "two of 8");
    p = fill_of(a + 4, 9, 1);
    eq_error(cudaGraphExecMemsetNodeSetParams(exec, node, &p), cudaSuccess,
             "change what is executed");
    run("changed after");
    ok(a[4] == 9, "9");
    p.elementSize = 3;
    eq_error(cudaGraphMemsetNodeSetParams(node, &p), cudaErrorInvalidValue,
             "elements of three bytes");
    eq_error(cudaGraphMemcpyNodeSetParams1D(node, a, b, 4, cudaMemcpyDefault),
             cudaErrorInvalidValue, "it is no copy");
    end();
    eq_error(cudaGraphMemsetNodeGetParams(node, &got), cudaErrorInvalidValue,
             "a node that is gone");
    (void)cudaGetLastError();
}

static void test_copy(void)
{
    struct cudaMemcpy3DParms p = {0}, got;
    cudaGraphNode_t one, box;

    begin();
    for (unsigned i = 0; i < N; i++)
        a[i] = i;
    eq_error(cudaGraphAddMemcpyNode1D(&one, graph, NULL, 0, b, a, 16, cudaMemcpyDefault),
             cudaSuccess, "copy");
    p.srcPtr = (struct cudaPitchedPtr){a, 32, 8, 8};
    p.dstPtr = (struct cudaPitchedPtr){b + 32, 16, 4, 4};
    p.extent = (struct cudaExtent){8, 2, 1};
    p.kind = cudaMemcpyDefault;
    eq_error(cudaGraphAddMemcpyNode(&box, graph, &one, 1, &p), cudaSuccess, "a box");
    eq_error(cudaGraphMemcpyNodeGetParams(box, &got), cudaSuccess, "ask");
    ok(got.extent.width == 8 && got.extent.height == 2 && got.dstPtr.ptr == b + 32 &&
           got.srcPtr.pitch == 32,
       "as it was made");
    eq_error(cudaGraphMemcpyNodeSetParams1D(one, b, a + 4, 8, cudaMemcpyDefault), cudaSuccess,
             "change the copy");
    p.extent.height = 1;
    eq_error(cudaGraphMemcpyNodeSetParams(box, &p), cudaSuccess, "change the box");
    make();
    run("changed before");
    ok(b[0] == 4 && b[1] == 5 && !b[2], "two words");
    ok(b[32] == 0 && b[33] == 1 && !b[36] && !b[37], "one row");
    eq_error(cudaGraphExecMemcpyNodeSetParams1D(exec, one, b + 8, a + 9, 4, cudaMemcpyDefault),
             cudaSuccess, "change what is executed");
    p.extent.height = 2;
    p.srcPtr.ptr = a + 1;
    eq_error(cudaGraphExecMemcpyNodeSetParams(exec, box, &p), cudaErrorInvalidValue, "two rows");
    p.extent.height = 1;
    eq_error(cudaGraphExecMemcpyNodeSetParams(exec, box, &p), cudaSuccess, "the row, too");
    run("changed after");
    ok(b[8] == 9 && b[32] == 1 && b[33] == 2 && !b[36], "both");
    end();
    (void)cudaGetLastError();
}

static unsigned called;

static void host_add(void *arg)
{
    called += *(unsigned *)arg;
}

static void test_host_and_events(void)
{
    static unsigned one = 1, ten = 10;
    struct cudaHostNodeParams p = {host_add, &one}, got = {0};
    cudaGraphNode_t host, record, wait, empty;
    cudaEvent_t event, second, asked = NULL;
    enum cudaGraphNodeType type = 0;

    begin();
    eq_error(cudaEventCreate(&event), cudaSuccess, "event");
    eq_error(cudaEventCreate(&second), cudaSuccess, "event");
    eq_error(cudaGraphAddEmptyNode(&empty, graph, NULL, 0), cudaSuccess, "nothing");
    eq_error(cudaGraphNodeGetType(empty, &type), cudaSuccess, "type");
    eq_u64(type, cudaGraphNodeTypeEmpty, "is nothing");
    eq_error(cudaGraphAddHostNode(&host, graph, &empty, 1, &p), cudaSuccess, "host function");
    eq_error(cudaGraphHostNodeGetParams(host, &got), cudaSuccess, "ask");
    ok(got.fn == host_add && got.userData == &one, "as it was made");
    eq_error(cudaGraphAddEventRecordNode(&record, graph, &host, 1, event), cudaSuccess, "record");
    eq_error(cudaGraphEventRecordNodeGetEvent(record, &asked), cudaSuccess, "ask");
    ok(asked == event, "the event");
    eq_error(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, event), cudaSuccess, "wait");
    eq_error(cudaGraphEventWaitNodeGetEvent(wait, &asked), cudaSuccess, "ask");
    ok(asked == event, "the event");
    eq_error(cudaGraphEventWaitNodeSetEvent(wait, second), cudaSuccess, "another one");
    eq_error(cudaGraphEventWaitNodeGetEvent(wait, &asked), cudaSuccess, "ask");
    ok(asked == second, "is it");
    eq_error(cudaGraphEventRecordNodeSetEvent(record, second), cudaSuccess, "another one");
    make();
    run("host function");
    eq_u64(called, 1, "was called");
    eq_error(cudaEventElapsedTime(&(float){0}, event, second), cudaErrorInvalidResourceHandle,
             "only the second one was recorded");
    eq_error(cudaEventQuery(second), cudaSuccess, "and is reached");
    p.userData = &ten;
    eq_error(cudaGraphExecHostNodeSetParams(exec, host, &p), cudaSuccess, "another argument");
    eq_error(cudaGraphExecEventRecordNodeSetEvent(exec, record, event), cudaSuccess,
             "the first event");
    eq_error(cudaGraphExecEventWaitNodeSetEvent(exec, wait, event), cudaSuccess, "the first event");
    run("changed");
    eq_u64(called, 11, "with that argument");
    float ms = -1;
    eq_error(cudaEventElapsedTime(&ms, second, event), cudaSuccess, "both were recorded");
    ok(ms >= 0, "one after the other");
    p.userData = &one;
    eq_error(cudaGraphHostNodeSetParams(host, &p), cudaSuccess, "of the graph");
    eq_error(cudaGraphEventRecordNodeGetEvent(host, &asked), cudaErrorInvalidValue,
             "it is no event's");
    end();
    eq_error(cudaEventDestroy(event), cudaSuccess, "destroy");
    eq_error(cudaEventDestroy(second), cudaSuccess, "destroy");
    (void)cudaGetLastError();
}

static void test_edges(void)
{
    struct cudaMemsetParams p = fill_of(a, 5, 1);
    cudaGraphNode_t n[3], from[4], to[4], found, got[4];
    cudaGraph_t clone;
    size_t count = 0;

    begin();
    for (int i = 0; i < 3; i++)
        eq_error(cudaGraphAddMemsetNode(&n[i], graph, NULL, 0, &p), cudaSuccess, "node %d", i);
    eq_error(cudaGraphAddDependencies(graph, (cudaGraphNode_t[]){n[0], n[1]},
                                      (cudaGraphNode_t[]){n[1], n[2]}, NULL, 2),
             cudaSuccess, "a chain");
    count = 4;
    eq_error(cudaGraphGetEdges(graph, from, to, NULL, &count), cudaSuccess, "edges");
    eq_u64(count, 2, "two");
    count = 4;
    eq_error(cudaGraphNodeGetDependencies(n[1], got, NULL, &count), cudaSuccess, "before");
    ok(count == 1 && got[0] == n[0], "the first");
    count = 4;
    eq_error(cudaGraphNodeGetDependentNodes(n[1], got, NULL, &count), cudaSuccess, "behind");
    ok(count == 1 && got[0] == n[2], "the third");
    count = 4;
    eq_error(cudaGraphGetRootNodes(graph, got, &count), cudaSuccess, "roots");
    ok(count == 1 && got[0] == n[0], "the first");
    eq_error(cudaGraphAddDependencies(graph, &n[0], &n[1], NULL, 1), cudaErrorInvalidValue,
             "an edge twice");
    eq_error(cudaGraphRemoveDependencies(graph, &n[0], &n[1], NULL, 1), cudaSuccess, "remove one");
    eq_error(cudaGraphRemoveDependencies(graph, &n[0], &n[1], NULL, 1), cudaErrorInvalidValue,
             "is gone");
    count = 4;
    eq_error(cudaGraphGetRootNodes(graph, got, &count), cudaSuccess, "roots");
    eq_u64(count, 2, "two now");
    eq_error(cudaGraphClone(&clone, graph), cudaSuccess, "clone");
    eq_error(cudaGraphNodeFindInClone(&found, n[1], clone), cudaSuccess, "the same node there");
    ok(found != n[1], "is another one");
    eq_error(cudaGraphNodeFindInClone(&found, n[1], graph), cudaErrorInvalidValue, "not a clone");
    eq_error(cudaGraphDestroy(clone), cudaSuccess, "destroy");
    eq_error(cudaGraphDestroyNode(n[2]), cudaSuccess, "a node less");
    count = 4;
    eq_error(cudaGraphGetNodes(graph, got, &count), cudaSuccess, "nodes");
    eq_u64(count, 2, "two");
    eq_error(cudaGraphDestroy(graph), cudaSuccess, "destroy");
    (void)cudaGetLastError();
}

static void test_child(void)
{
    struct cudaMemsetParams p = fill_of(a, 3, 1);
    cudaGraphNode_t inner, child, found, embedded;
    cudaGraph_t sub, other, asked = NULL;
    size_t count = 1;

    eq_error(cudaGraphCreate(&sub, 0), cudaSuccess, "a graph");
    eq_error(cudaGraphAddMemsetNode(&inner, sub, NULL, 0, &p), cudaSuccess, "that fills");
    begin();
    eq_error(cudaGraphAddChildGraphNode(&child, graph, NULL, 0, sub), cudaSuccess,
             "inside of another");
    eq_error(cudaGraphChildGraphNodeGetGraph(child, &asked), cudaSuccess, "ask");
    ok(asked != NULL && asked != sub, "a copy of it");
    make();
    run("child");
    eq_u64(a[0], 3, "filled");
    eq_error(cudaGraphClone(&other, sub), cudaSuccess, "the same again");
    eq_error(cudaGraphNodeFindInClone(&found, inner, other), cudaSuccess, "its node");
    p.value = 4;
    eq_error(cudaGraphMemsetNodeSetParams(found, &p), cudaSuccess, "another value");
    eq_error(cudaGraphExecChildGraphNodeSetParams(exec, child, other), cudaSuccess, "instead");
    run("another child");
    eq_u64(a[0], 4, "with that value");
    eq_error(cudaGraphGetNodes(asked, &embedded, &count), cudaSuccess, "the first child's node");
    p.value = 5;
    eq_error(cudaGraphExecMemsetNodeSetParams(exec, embedded, &p), cudaSuccess,
             "names the new one's");
    run("the child's node changed");
    eq_u64(a[0], 5, "with the value it got");
    eq_error(cudaGraphAddEmptyNode(&found, other, NULL, 0), cudaSuccess, "one node more");
    eq_error(cudaGraphExecChildGraphNodeSetParams(exec, child, other), cudaErrorInvalidValue,
             "is no longer like the first");
    run("the child that it had");
    eq_error(cudaGraphChildGraphNodeGetGraph(inner, &asked), cudaErrorInvalidValue,
             "it is no graph");
    end();
    eq_error(cudaGraphDestroy(sub), cudaSuccess, "destroy");
    eq_error(cudaGraphDestroy(other), cudaSuccess, "destroy");
    (void)cudaGetLastError();
}

static void test_enabled(void)
{
    struct cudaMemsetParams p = fill_of(a, 6, 1);
    cudaGraphInstantiateParams how = {0};
    cudaGraphNode_t node;
    unsigned on = 7;
    unsigned long long flags = 7;

    begin();
    eq_error(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &p), cudaSuccess, "fill");
    how.flags = cudaGraphInstantiateFlagUpload;
    eq_error(cudaGraphInstantiateWithParams(&exec, graph, &how), cudaSuccess, "instantiate");
    eq_u64(how.result_out, cudaGraphInstantiateSuccess, "went well");
    eq_error(cudaGraphExecGetFlags(exec, &flags), cudaSuccess, "flags");
    eq_u64(flags, 0, "uploading is none of the graph's");
    eq_error(cudaGraphUpload(exec, NULL), cudaSuccess, "upload");
    eq_error(cudaGraphNodeGetEnabled(exec, node, &on), cudaSuccess, "enabled?");
    eq_u64(on, 1, "yes");
    eq_error(cudaGraphNodeSetEnabled(exec, node, 0), cudaSuccess, "not any more");
    run("without it");
    eq_u64(a[0], 0, "nothing was filled");
    eq_error(cudaGraphNodeGetEnabled(exec, node, &on), cudaSuccess, "enabled?");
    eq_u64(on, 0, "no");
    eq_error(cudaGraphNodeSetEnabled(exec, node, 1), cudaSuccess, "again");
    run("with it");
    eq_u64(a[0], 6, "filled");
    eq_error(cudaGraphNodeSetEnabled(exec, NULL, 1), cudaErrorInvalidValue, "no node");
    end();
    (void)cudaGetLastError();
}

static unsigned destroyed;

static void object_destroy(void *arg)
{
    destroyed += arg == &destroyed;
}

static void test_objects(void)
{
    cudaUserObject_t object;

    begin();
    eq_error(cudaUserObjectCreate(&object, &destroyed, object_destroy, 2,
                                  cudaUserObjectNoDestructorSync),
             cudaSuccess, "object");
    eq_error(cudaUserObjectRetain(object, 1), cudaSuccess, "one more");
    eq_error(cudaUserObjectRelease(object, 2), cudaSuccess, "two less");
    eq_error(cudaGraphRetainUserObject(graph, object, 2, 0), cudaSuccess, "two of the graph");
    eq_error(cudaUserObjectRelease(object, 1), cudaSuccess, "none of ours");
    eq_u64(destroyed, 0, "it lives");
    eq_error(cudaGraphReleaseUserObject(graph, object, 1), cudaSuccess, "one less");
    eq_error(cudaGraphDestroy(graph), cudaSuccess, "the graph goes");
    for (int i = 0; i < 2000 && !*(volatile unsigned *)&destroyed; i++)
        eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
    eq_u64(destroyed, 1, "and so does the object");
    eq_error(cudaUserObjectRetain(object, 1), cudaErrorInvalidValue, "gone");
    (void)cudaGetLastError();
}

int main(void)
{
    eq_error(cudaMallocManaged((void **)&a, N * 4, cudaMemAttachGlobal), cudaSuccess, "memory");
    eq_error(cudaMallocManaged((void **)&b, N * 4, cudaMemAttachGlobal), cudaSuccess, "memory");
    test_fill();
    test_copy();
    test_host_and_events();
    test_edges();
    test_child();
    test_enabled();
    test_objects();
    return done();
}
