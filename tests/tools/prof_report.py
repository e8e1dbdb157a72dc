"""Reports made for tests: the tables of Nsight Systems' exports, with no more columns than its older versions had."""
import os
import sqlite3

VM = 1 << 48
TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    "ANALYSIS_DETAILS": "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, "
                       "computeMinor INTEGER, maxThreadsPerBlock INTEGER, maxRegistersPerBlock INTEGER, threadsPerWarp INTEGER, maxShmemPerBlock INTEGER, "
                       "maxShmemPerSm INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
                                  "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT "
                                  "NULL, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX "
                                  "INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, "
                                  "dynamicSharedMemory INTEGER NOT NULL, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId "
                                   "INTEGER NOT NULL, returnValue INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
                                  "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, "
                                  "srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
                                  "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind "
                                  "INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId "
                                           "INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId "
                                    "INTEGER NOT NULL, overheadType INTEGER",
    "OSRT_API": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, "
                "returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER, bytes INTEGER NOT NULL, "
                                    "memKind INTEGER, memoryOperationType INTEGER",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId "
                   "INTEGER, domainId INTEGER",
    "HEDDLE_LAUNCHES": "launchId INTEGER NOT NULL PRIMARY KEY, demangledName TEXT NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, "
                       "blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL",
    "HEDDLE_SOURCE_METRICS": "launchId INTEGER NOT NULL, file TEXT, line INTEGER, function TEXT, name TEXT NOT NULL, value REAL NOT NULL",
    "HEDDLE_METRICS": "launchId INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, value REAL NOT NULL",
    "ENUM_CUDA_MEMCPY_OPER": "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
}


class Report:
    """Tables are made when they get their first row, as the vendor's exporter does."""

    def __init__(self, path):
        self.path = path
        if os.path.exists(path):
            os.unlink(path)
        self.db = sqlite3.connect(path)
        self.tables, self.strings = set(), {}
        for row in ((0, "UNKNOWN", "Unknown"), (1, "HTOD", "Host-to-Device"), (2, "DTOH", "Device-to-Host"), (8, "DTOD", "Device-to-Device")):
            self.row("ENUM_CUDA_MEMCPY_OPER", **dict(zip(("id", "name", "label"), row)))

    def row(self, table, **columns):
        if table not in self.tables:
            self.tables.add(table)
            self.db.execute(f"CREATE TABLE {table}({TABLES[table]})")
        marks = ", ".join("?" * len(columns))
        self.db.execute(f"INSERT INTO {table}({', '.join(columns)}) VALUES({marks})", list(columns.values()))

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.row("StringIds", id=self.strings[text], value=text)
        return self.strings[text]

    def process(self, pid=100, name="program", wall=None):
        self.row("PROCESSES", globalPid=VM | pid << 24, pid=pid, name=name)
        if wall:
            self.row("ANALYSIS_DETAILS", globalVid=VM, duration=wall, startTime=0, stopTime=wall)

    def thread(self, name, pid=100, tid=100):
        self.row("ThreadNames", nameId=self.string(name), globalTid=VM | pid << 24 | tid)

    def api(self, name, start, end, corr=0, pid=100, tid=100, driver=0, result=0):
        self.row("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=driver, globalTid=VM | pid << 24 | tid, correlationId=corr,
                 nameId=self.string(name), returnValue=result)

    def osrt(self, name, start, end, pid=100, tid=100):
        self.row("OSRT_API", start=start, end=end, eventClass=27, globalTid=VM | pid << 24 | tid, correlationId=0, nameId=self.string(name), returnValue=0,
                 nestingLevel=0, callchainId=0)

    def kernel(self, name, start, end, corr=0, pid=100, device=0, context=1, stream=7, grid=(1, 1, 1), block=(32, 1, 1)):
        self.row("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=context, streamId=stream, correlationId=corr,
                 globalPid=VM | pid << 24, demangledName=self.string(name), shortName=self.string(name.split("(")[0]), registersPerThread=32, gridX=grid[0],
                 gridY=grid[1], gridZ=grid[2], blockX=block[0], blockY=block[1], blockZ=block[2], staticSharedMemory=0, dynamicSharedMemory=256)

    def copy(self, start, end, size, kind=1, corr=0, pid=100, device=0, context=1, stream=7):
        self.row("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=device, contextId=context, streamId=stream, correlationId=corr,
                 globalPid=VM | pid << 24, bytes=size, copyKind=kind, srcKind=0, dstKind=2)

    def fill(self, start, end, size, corr=0, pid=100, device=0, context=1, stream=7):
        self.row("CUPTI_ACTIVITY_KIND_MEMSET", start=start, end=end, deviceId=device, contextId=context, streamId=stream, correlationId=corr,
                 globalPid=VM | pid << 24, value=0, bytes=size, memKind=2)

    def sync(self, start, end, corr=0, kind=4, pid=100):
        self.row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=start, end=end, deviceId=0, contextId=1, streamId=7, correlationId=corr, globalPid=VM | pid << 24,
                 syncType=kind)

    def compile(self, name, start, end, pid=100, tid=100):
        self.row("CUPTI_ACTIVITY_KIND_OVERHEAD", start=start, end=end, eventClass=103, globalTid=VM | pid << 24 | tid, correlationId=0,
                 nameId=self.string(name), overheadType=2)

    def memory(self, start, size, freed=False, pid=100, device=0, kind=2):
        self.row("CUDA_GPU_MEMORY_USAGE_EVENTS", start=start, globalPid=VM | pid << 24, deviceId=device, contextId=1, address=4096, bytes=size, memKind=kind,
                 memoryOperationType=int(freed))

    def range(self, text, start, end, pid=100, tid=100, kind=59, registered=False, domain=0):
        self.row("NVTX_EVENTS", start=start, end=end, eventType=kind, text=None if registered else text, textId=self.string(text) if registered else None,
                 globalTid=VM | pid << 24 | tid, domainId=domain)

    def done(self):
        self.db.commit()
        self.db.close()
        return self.path
