"""A program's timeline by rules of arithmetic, as a report: what test_advise.py gives to `heddle advise` and what it compares estimates with."""
import sqlite3

PID = 77
GLOBAL = (1 << 48) | PID << 24
NULL, ALL = 1, -1
PAGEABLE, PINNED, DEVICE = 0, 1, 2
TO_DEVICE, TO_HOST = 1, 2
US = 1000

TABLES = """
CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_GPU(id INTEGER, smCount INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER);
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO(processId INTEGER, contextId INTEGER, nullStreamId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER, end INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, syncType INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, overheadType INTEGER);
"""
COUNTERS = """
CREATE TABLE HEDDLE_LAUNCHES(launchId INTEGER, correlationId INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, name TEXT,
  demangledName TEXT, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, start INTEGER, end INTEGER);
CREATE TABLE HEDDLE_METRICS(launchId INTEGER, name TEXT, unit TEXT, value REAL);
CREATE TABLE HEDDLE_SOURCE_METRICS(launchId INTEGER, file TEXT, line INTEGER, function TEXT, name TEXT, value REAL);
"""


class Timeline:
    """A device of `sms` multiprocessors and an engine for copies of each direction. Times in nanoseconds; calls return when the next may begin."""
    LAUNCH, LATENCY, QUEUE, TAIL = 3 * US, 5 * US, 500, 1 * US
    LAUNCH_NAME = "cudaLaunchKernel_v7000"

    def __init__(self, sms=8, product="Heddle"):
        self.sms, self.now, self.correlation = sms, 0, 0
        self.thread, self.clocks = 1, {}
        self.names, self.rows = {}, {}
        self.stream_end, self.engine_end, self.last_end = {}, {}, 0
        self.meta = [("META_DATA_EXPORT", ("EXPORT_PRODUCT_NAME", product)), ("TARGET_INFO_GPU", (0, sms, 48, 24)),
                     ("TARGET_INFO_CUDA_CONTEXT_INFO", (PID, 1, NULL))]
        self.call("cudaGetDeviceCount", US)  # the start-up, which is not of the steady time

    def name(self, text):
        return self.names.setdefault(text, len(self.names) + 1)

    def row(self, table, *values):
        self.rows.setdefault(table, []).append(values)

    def switch(self, thread):
        """The calls that follow are those of another thread, which begins now or goes on where it was."""
        self.clocks[self.thread] = self.now
        self.thread, self.now = thread, self.clocks.get(thread, self.now)

    def call(self, name, time):
        self.correlation += 1
        self.row("CUPTI_ACTIVITY_KIND_RUNTIME", self.now, self.now + time, GLOBAL | self.thread, self.correlation, self.name(name))
        self.now += time
        return self.correlation

    def host(self, time):
        self.now += time

    def begin(self, stream, call_start, latency, after, engine):
        ends = [self.stream_end.get(stream, -self.QUEUE) + self.QUEUE, call_start + latency, after]
        return max(ends + ([self.engine_end.get(engine, 0)] if engine else []))

    def work(self, stream, start, time, engine):
        self.stream_end[stream] = start + time
        self.last_end = max(self.last_end, start + time)
        if engine:
            self.engine_end[engine] = start + time
        return start + time

    def kernel_row(self, start, end, stream, correlation, name, grid, block=128):
        self.row("CUPTI_ACTIVITY_KIND_KERNEL", start, end, 0, 1, stream, correlation, GLOBAL, self.name(name), grid, 1, 1, block, 1, 1)

    def launch(self, time, stream=NULL, name="work(int)", grid=None, after=0, host=None):
        grid = grid or self.sms * 100
        engine = "compute" if grid >= self.sms else None
        start = self.begin(stream, self.now, self.LATENCY, after, engine)
        correlation = self.call(self.LAUNCH_NAME, host or self.LAUNCH)
        end = self.work(stream, start, time, engine)
        self.kernel_row(start, end, stream, correlation, name, grid)
        return end

    def graph(self, times, stream=NULL):
        start = self.begin(stream, self.now, self.LATENCY, 0, "compute")
        correlation = self.call("cudaGraphLaunch_v10000", self.LAUNCH)
        for time in times:
            end = self.work(stream, start, time, "compute")
            self.kernel_row(start, end, stream, correlation, "work(int)", self.sms * 100)
            start = end + self.QUEUE

    def copy(self, size, time, kind, stream=NULL, blocks=True, memory=PINNED, after=0):
        pretends = not blocks and memory == PAGEABLE
        start = self.begin(stream, self.now, self.LATENCY, after, kind)
        end = self.work(stream, start, time, kind)
        name = "cudaMemcpy_v3020" if blocks else "cudaMemcpyAsync_v3020"
        correlation = self.call(name, end + self.TAIL - self.now if blocks or pretends else self.LAUNCH)
        kinds = (memory, DEVICE) if kind == TO_DEVICE else (DEVICE, memory)
        self.row("CUPTI_ACTIVITY_KIND_MEMCPY", start, end, 0, 1, stream, correlation, GLOBAL, size, kind, *kinds)
        return end

    def sync(self, stream=ALL, until=None):
        end = self.last_end if stream == ALL else self.stream_end[stream]
        begin = self.now
        name = "cudaDeviceSynchronize_v3020" if stream == ALL else "cudaStreamSynchronize_v3020"
        if until is not None:
            name, end = "cudaEventSynchronize_v3020", until
        correlation = self.call(name, max(end + self.TAIL - self.now, self.TAIL))
        if until is None:
            self.row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", begin, self.now, 1, stream, correlation, GLOBAL, 4 if stream == ALL else 3)

    @property
    def span(self):
        """Without the start-up."""
        return max([self.now, self.last_end, *self.clocks.values()]) - US

    def write(self, path, more=""):
        db = sqlite3.connect(path)
        db.executescript(TABLES + more)
        for table, values in self.meta + [("StringIds", (i, text)) for text, i in self.names.items()]:
            db.execute(f"INSERT INTO {table} VALUES({','.join('?' * len(values))})", values)
        for table, rows in self.rows.items():
            db.executemany(f"INSERT INTO {table} VALUES({','.join('?' * len(rows[0]))})", rows)
        db.commit()
        return db
