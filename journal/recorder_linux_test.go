package journal

import (
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The recorder is a file system for SQLite that delegates to the system's own and logs
// every write, truncation, sync and removal, in order. It lets a test reconstruct what
// was on the disk when the power failed.

// op is one operation by SQLite on a file.
type op struct {
	file string // its name without the directory
	kind opKind
	at   int64  // of a write; the new size of a truncation
	data []byte // of a write
}

type opKind int

const (
	opWrite opKind = iota
	opTruncate
	opSync
	opDelete
)

// recorderName is the name that the recorder is registered under.
const recorderName = "recorder"

var recorder struct {
	once sync.Once
	real uintptr // the system's own file system

	mu      sync.Mutex
	ops     []op
	names   map[uintptr]string                       // by open file
	methods map[uintptr]*sqlite3.Tsqlite3_io_methods // the real methods of each file
}

// record starts a new recording.
func record() {
	recorder.once.Do(registerRecorder)
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	recorder.ops = nil
}

// recorded returns the operations so far.
func recorded() []op {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	return slices.Clip(recorder.ops)
}

func registerRecorder() {
	tls := libc.NewTLS()
	recorder.names = map[uintptr]string{}
	recorder.methods = map[uintptr]*sqlite3.Tsqlite3_io_methods{}
	recorder.real = sqlite3.Xsqlite3_vfs_find(tls, 0)
	shim := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	*vfs(shim) = *vfs(recorder.real)
	name, err := libc.CString(recorderName)
	if err != nil {
		panic(err)
	}
	vfs(shim).FzName = name
	vfs(shim).FxOpen = funcPointer(recordOpen)
	vfs(shim).FxDelete = funcPointer(recordDelete)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, shim, 0); rc != sqlite3.SQLITE_OK {
		panic(rc)
	}
}

func recordOpen(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	open := vfs(recorder.real).FxOpen
	rc := (*(*func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{open})))(tls, recorder.real, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || name == 0 {
		return rc
	}
	f := (*sqlite3.Tsqlite3_file)(pointer(file))
	methods := (*sqlite3.Tsqlite3_io_methods)(pointer(f.FpMethods))
	shim := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*methods)))
	ours := (*sqlite3.Tsqlite3_io_methods)(pointer(shim))
	*ours = *methods
	ours.FxWrite = funcPointer(recordWrite)
	ours.FxTruncate = funcPointer(recordTruncate)
	ours.FxSync = funcPointer(recordSync)
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	recorder.names[file] = filepath.Base(libc.GoString(name))
	recorder.methods[file] = methods
	f.FpMethods = shim
	return rc
}

func recordDelete(tls *libc.TLS, _, name uintptr, syncDir int32) int32 {
	recorder.mu.Lock()
	recorder.ops = append(recorder.ops, op{file: filepath.Base(libc.GoString(name)), kind: opDelete})
	recorder.mu.Unlock()
	remove := vfs(recorder.real).FxDelete
	return (*(*func(*libc.TLS, uintptr, uintptr, int32) int32)(unsafe.Pointer(&struct{ uintptr }{remove})))(tls, recorder.real, name, syncDir)
}

func recordWrite(tls *libc.TLS, file, buf uintptr, n int32, at int64) int32 {
	methods := note(file, op{kind: opWrite, at: at, data: append([]byte(nil), unsafe.Slice((*byte)(pointer(buf)), n)...)})
	return (*(*func(*libc.TLS, uintptr, uintptr, int32, int64) int32)(unsafe.Pointer(&struct{ uintptr }{methods.FxWrite})))(tls, file, buf, n, at)
}

func recordTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	methods := note(file, op{kind: opTruncate, at: size})
	return (*(*func(*libc.TLS, uintptr, int64) int32)(unsafe.Pointer(&struct{ uintptr }{methods.FxTruncate})))(tls, file, size)
}

func recordSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	recorder.mu.Lock()
	methods := recorder.methods[file]
	recorder.mu.Unlock()
	rc := (*(*func(*libc.TLS, uintptr, int32) int32)(unsafe.Pointer(&struct{ uintptr }{methods.FxSync})))(tls, file, flags)
	if rc == sqlite3.SQLITE_OK {
		note(file, op{kind: opSync})
	}
	return rc
}

// note logs an operation and returns the methods that carry it out.
func note(file uintptr, o op) *sqlite3.Tsqlite3_io_methods {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	o.file = recorder.names[file]
	recorder.ops = append(recorder.ops, o)
	return recorder.methods[file]
}

func vfs(p uintptr) *sqlite3.Tsqlite3_vfs { return (*sqlite3.Tsqlite3_vfs)(pointer(p)) }

// pointer converts an address in memory that Go's collector does not manage.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// funcPointer converts a Go function to the form in which the translated C code calls
// functions.
func funcPointer(f any) uintptr {
	type iface [2]uintptr
	return (*iface)(unsafe.Pointer(&f))[1]
}
