//! The OpenSSL that the interpreter's own `ssl` module uses, called without that module in between.
//!
//! Laws: a connection of `ssl` is used only where its memory is laid out as this module knows it,
//! which is checked for each; its handshake, verification, shutdown and errors stay `ssl`'s own.
//! Whoever calls has the GIL, and nobody else uses the connection meanwhile: it is an event loop's.

use libc::{RTLD_LAZY, RTLD_NOLOAD, c_char, c_int, c_long, c_void};
use pyo3::{PyTraverseError, PyVisit, intern, prelude::*, sync::PyOnceLock};
use std::{
    ffi::{CStr, CString},
    mem::{self, MaybeUninit},
    ops::RangeInclusive,
    ptr::{self, NonNull},
    slice,
};

type Ssl = c_void;
type Bio = c_void;

/// The functions of libssl and libcrypto that are used here, by name, as OpenSSL has declared them since
/// 1.1.1.
macro_rules! functions {
    ($($field:ident = $name:literal: $type:ty;)*) => {
        struct Functions {
            $($field: $type,)*
        }

        impl Functions {
            /// None where one of them is missing.
            fn look_up(find: impl Fn(&CStr) -> Option<NonNull<c_void>>) -> Option<Self> {
                Some(Self {
                    // SAFETY: OpenSSL's function of that name is of this type.
                    $($field: unsafe { mem::transmute::<NonNull<c_void>, $type>(find($name)?) },)*
                })
            }
        }
    };
}

functions! {
    ssl_read_ex = c"SSL_read_ex":
        unsafe extern "C" fn(*mut Ssl, *mut c_void, usize, *mut usize) -> c_int;
    ssl_write_ex = c"SSL_write_ex":
        unsafe extern "C" fn(*mut Ssl, *const c_void, usize, *mut usize) -> c_int;
    ssl_get_error = c"SSL_get_error": unsafe extern "C" fn(*const Ssl, c_int) -> c_int;
    ssl_get_rbio = c"SSL_get_rbio": unsafe extern "C" fn(*const Ssl) -> *mut Bio;
    ssl_get_wbio = c"SSL_get_wbio": unsafe extern "C" fn(*const Ssl) -> *mut Bio;
    bio_write = c"BIO_write": unsafe extern "C" fn(*mut Bio, *const c_void, c_int) -> c_int;
    bio_read = c"BIO_read": unsafe extern "C" fn(*mut Bio, *mut c_void, c_int) -> c_int;
    bio_ctrl = c"BIO_ctrl":
        unsafe extern "C" fn(*mut Bio, c_int, c_long, *mut c_void) -> c_long;
    bio_method_type = c"BIO_method_type": unsafe extern "C" fn(*const Bio) -> c_int;
    ssl_get_ex_data = c"SSL_get_ex_data": unsafe extern "C" fn(*const Ssl, c_int) -> *mut c_void;
    err_clear_error = c"ERR_clear_error": unsafe extern "C" fn();
    openssl_version = c"OpenSSL_version": unsafe extern "C" fn(c_int) -> *const c_char;
}

/// SSL_get_error(3).
const SSL_ERROR_SSL: c_int = 1;
const SSL_ERROR_WANT_READ: c_int = 2;
/// SSL_get_app_data(3): where `_ssl.c` keeps the Python object of a connection.
const APP_DATA: c_int = 0;
/// OpenSSL_version(3): the text of the version.
const OPENSSL_VERSION: c_int = 0;
/// What BIO_method_type(3) says of memory.
const BIO_TYPE_MEM: c_int = 1 | 0x400;
/// BIO_get_mem_data(3), BIO_pending(3).
const BIO_CTRL_INFO: c_int = 3;
const BIO_CTRL_PENDING: c_int = 10;
/// BIO_seek(3), BIO_tell(3).
const BIO_C_FILE_SEEK: c_int = 128;
const BIO_C_FILE_TELL: c_int = 133;
/// Up to so much it costs less to copy what was sent than to skip it.
const COPIED_BYTES: usize = 16 << 10;

/// The layout of a connection in CPython's `Modules/_ssl.c` (`PySSLSocket`), in words: after the
/// object's head come the socket, which is NULL where memory is read and written in place of one,
/// then `SSL *`, then the context, which is a Python object.
const SOCKET_WORD: usize = 2;
const SSL_WORD: usize = 3;
const CONTEXT_WORD: usize = 4;
/// The versions of which tests have shown that layout, 3.11 to 3.13, as `sys.hexversion` begins with
/// them.
const KNOWN_VERSIONS: RangeInclusive<u32> = 0x030b..=0x030d;

static FUNCTIONS: PyOnceLock<Option<Functions>> = PyOnceLock::new();

impl Functions {
    /// None where they cannot be found: `_ssl` may be a part of the interpreter itself.
    fn of_interpreter(py: Python<'_>) -> PyResult<Option<Self>> {
        let version: u32 = py.import("sys")?.getattr("hexversion")?.extract()?;
        if !KNOWN_VERSIONS.contains(&(version >> 16)) {
            return Ok(None);
        }
        let module = py.import("_ssl")?;
        let Some(file) = module.getattr_opt("__file__")? else {
            return Ok(None);
        };
        let Ok(file) = CString::new(file.extract::<String>()?) else {
            return Ok(None);
        };
        // SAFETY: the name ends with a zero. RTLD_NOLOAD: nothing is loaded that is not there.
        let handle = unsafe { libc::dlopen(file.as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
        if handle.is_null() {
            return Ok(None);
        }
        // They are looked for in `_ssl`, and then in what it was linked with. The handle stays open, as
        // the interpreter unloads no module.
        let found = Self::look_up(|name| {
            // SAFETY: the handle is open, and the name ends with a zero.
            NonNull::new(unsafe { libc::dlsym(handle, name.as_ptr()) })
        });
        let Some(found) = found else {
            return Ok(None);
        };
        // What `_ssl` itself calls may be of a library that the program was linked with.
        let its_own: String = module.getattr("OPENSSL_VERSION")?.extract()?;
        // SAFETY: it returns a constant text that ends with a zero.
        let version = unsafe { CStr::from_ptr((found.openssl_version)(OPENSSL_VERSION)) };
        Ok((version.to_bytes() == its_own.as_bytes()).then_some(found))
    }
}

/// Why OpenSSL has not done what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// The rest of a record is still to come.
    Incomplete,
    /// The connection has failed for good. The next call of `ssl` finds why: the error is still in
    /// OpenSSL's queue.
    Failed,
    /// The next call of `ssl` finds why: the end of the stream, for example, is told again.
    Unknown,
}

/// What was decrypted.
pub struct Filled {
    pub bytes: usize,
    /// How much ciphertext is left.
    pub left_bytes: usize,
    /// Why no more was decrypted; None: there is no more, or no room for it.
    pub undone: Option<Undone>,
}

impl Filled {
    /// There is no room that OpenSSL could be given.
    pub fn nothing(left_bytes: usize) -> Self {
        Self {
            bytes: 0,
            left_bytes,
            undone: Some(Undone::Unknown),
        }
    }
}

/// A connection of OpenSSL which reads and writes ciphertext in memory.
pub struct OpenSsl {
    functions: &'static Functions,
    ssl: *mut Ssl,
    incoming: *mut Bio,
    outgoing: *mut Bio,
    /// The `_ssl._SSLSocket` that owns all three.
    owner: Py<PyAny>,
}

// SAFETY: it is used with the GIL held, and by the thread that runs the event loop.
unsafe impl Send for OpenSsl {}
// SAFETY: the same.
unsafe impl Sync for OpenSsl {}

impl OpenSsl {
    /// The connection that `owner`, an `_ssl._SSLSocket`, has. None where it is not as known.
    pub fn of(owner: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if cfg!(Py_GIL_DISABLED) {
            return Ok(None);
        }
        let py = owner.py();
        let Some(functions) = FUNCTIONS.get_or_try_init(py, || Functions::of_interpreter(py))?
        else {
            return Ok(None);
        };
        let Some(ssl) = ssl_of(owner)? else {
            return Ok(None);
        };
        // SAFETY: `ssl` is the connection's `SSL *`, as the words around it show.
        if unsafe { (functions.ssl_get_ex_data)(ssl, APP_DATA) } != owner.as_ptr().cast() {
            return Ok(None);
        }
        // SAFETY: the same.
        let (incoming, outgoing) =
            unsafe { ((functions.ssl_get_rbio)(ssl), (functions.ssl_get_wbio)(ssl)) };
        for bio in [incoming, outgoing] {
            // SAFETY: it is the connection's BIO, unless it has none.
            if bio.is_null() || unsafe { (functions.bio_method_type)(bio) } != BIO_TYPE_MEM {
                return Ok(None);
            }
        }
        Ok(Some(Self {
            functions,
            ssl,
            incoming,
            outgoing,
            owner: owner.clone().unbind(),
        }))
    }

    /// Encrypt the message. How much of it was encrypted.
    pub fn write(&self, message: &[u8]) -> Result<usize, Undone> {
        let mut written = 0;
        // SAFETY: the connection lives as long as its owner; the message is valid for reading.
        let status = unsafe {
            (self.functions.err_clear_error)();
            (self.functions.ssl_write_ex)(
                self.ssl,
                message.as_ptr().cast(),
                message.len(),
                &mut written,
            )
        };
        if status == 1 {
            Ok(written)
        } else {
            Err(self.undone(status))
        }
    }

    /// Decrypt what has come, until the room is full.
    pub fn fill(&self, room: &mut [u8]) -> Filled {
        let mut filled = Filled {
            bytes: 0,
            left_bytes: 1,
            undone: None,
        };
        // A record is read no further than its end: where no ciphertext is left, there is nothing to
        // ask for.
        while filled.bytes < room.len() && filled.left_bytes > 0 && filled.undone.is_none() {
            match self.read(&mut room[filled.bytes..]) {
                Ok(count) => filled.bytes += count,
                Err(undone) => filled.undone = Some(undone),
            }
            filled.left_bytes = self.incoming_bytes();
        }
        filled
    }

    fn read(&self, room: &mut [u8]) -> Result<usize, Undone> {
        let mut read = 0;
        // SAFETY: the connection lives as long as its owner; the room is valid for writing.
        let status = unsafe {
            (self.functions.err_clear_error)();
            (self.functions.ssl_read_ex)(self.ssl, room.as_mut_ptr().cast(), room.len(), &mut read)
        };
        if status == 1 {
            Ok(read)
        } else {
            Err(self.undone(status))
        }
    }

    fn undone(&self, status: c_int) -> Undone {
        // SAFETY: the connection lives as long as its owner.
        match unsafe { (self.functions.ssl_get_error)(self.ssl, status) } {
            SSL_ERROR_WANT_READ => Undone::Incomplete,
            SSL_ERROR_SSL => Undone::Failed,
            _ => Undone::Unknown,
        }
    }

    /// Put ciphertext where the connection reads it. Returns whether there was memory for it.
    pub fn put(&self, ciphertext: &[u8]) -> bool {
        let Ok(size) = c_int::try_from(ciphertext.len()) else {
            return false;
        };
        // SAFETY: the BIO lives as long as its owner; the ciphertext is valid for reading.
        let taken =
            unsafe { (self.functions.bio_write)(self.incoming, ciphertext.as_ptr().cast(), size) };
        taken == size
    }

    /// How much ciphertext was put and not read.
    pub fn incoming_bytes(&self) -> usize {
        self.pending(self.incoming)
    }

    /// How much ciphertext was written and not taken.
    pub fn outgoing_bytes(&self) -> usize {
        self.pending(self.outgoing)
    }

    fn pending(&self, bio: *mut Bio) -> usize {
        // SAFETY: the BIO lives as long as its owner; this question has no argument.
        let bytes = unsafe { (self.functions.bio_ctrl)(bio, BIO_CTRL_PENDING, 0, ptr::null_mut()) };
        usize::try_from(bytes).unwrap_or(0)
    }

    /// Let `send` have all ciphertext that was written; it says how much it took, and the rest stays.
    /// Returns whether it took all. After an error of `send` nothing is left.
    pub fn take<E>(&self, send: impl FnOnce(&[u8]) -> Result<usize, E>) -> Result<bool, E> {
        let mut start: *mut u8 = ptr::null_mut();
        let place = ptr::from_mut(&mut start).cast();
        // SAFETY: the BIO is memory and lives as long as its owner; this asks where it begins.
        let bytes = unsafe { (self.functions.bio_ctrl)(self.outgoing, BIO_CTRL_INFO, 0, place) };
        let bytes = usize::try_from(bytes).unwrap_or(0);
        if bytes == 0 || start.is_null() {
            return Ok(true);
        }
        // SAFETY: these bytes are the BIO's until the next call that has it.
        let sent = send(unsafe { slice::from_raw_parts(start, bytes) });
        // After an error nothing more is sent.
        let taken = sent.as_ref().map_or(bytes, |sent| *sent);
        self.drop_written(taken);
        sent.map(|_| taken == bytes)
    }

    /// Forget so much of the ciphertext that was written: memory forgets what is read.
    fn drop_written(&self, mut bytes: usize) {
        if bytes > COPIED_BYTES && self.skip_written(bytes) {
            return;
        }
        let mut read = MaybeUninit::<[u8; COPIED_BYTES]>::uninit();
        while bytes > 0 {
            let part = bytes.min(COPIED_BYTES) as c_int;
            // SAFETY: the BIO lives as long as its owner; `read` is valid for writing.
            let count =
                unsafe { (self.functions.bio_read)(self.outgoing, read.as_mut_ptr().cast(), part) };
            match usize::try_from(count) {
                Ok(count) if count > 0 => bytes -= count,
                _ => return,
            }
        }
    }

    /// The same without a copy, which memory can do since OpenSSL 3. Returns whether it is done.
    fn skip_written(&self, bytes: usize) -> bool {
        // SAFETY: the BIO is memory and lives as long as its owner; these requests have no argument in
        // memory, and a place outside of what is written is refused.
        unsafe {
            let ask = |what, number| {
                (self.functions.bio_ctrl)(self.outgoing, what, number, ptr::null_mut())
            };
            let start = ask(BIO_C_FILE_TELL, 0);
            let end = start + bytes as c_long;
            ask(BIO_C_FILE_SEEK, end) == end
        }
    }

    /// For the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

/// The `SSL *` of an `_ssl._SSLSocket`, where the words around it are those that are known, and where
/// no Python code is called within OpenSSL.
fn ssl_of(owner: &Bound<'_, PyAny>) -> PyResult<Option<*mut Ssl>> {
    let py = owner.py();
    let class = py.import("_ssl")?.getattr(intern!(py, "_SSLSocket"))?;
    let size: usize = class.getattr(intern!(py, "__basicsize__"))?.extract()?;
    if !owner.get_type().is(&class) || size < (CONTEXT_WORD + 1) * size_of::<usize>() {
        return Ok(None);
    }
    let context = owner.getattr(intern!(py, "context"))?;
    if !context.getattr(intern!(py, "_msg_callback"))?.is_none() {
        return Ok(None);
    }
    // SAFETY: an object of exactly this class has at least so many words, which are initialised.
    let words = unsafe { slice::from_raw_parts(owner.as_ptr() as *const usize, CONTEXT_WORD + 1) };
    let is_known = words[SOCKET_WORD] == 0 && words[CONTEXT_WORD] == context.as_ptr() as usize;
    let ssl = words[SSL_WORD] as *mut Ssl;
    Ok((is_known && !ssl.is_null()).then_some(ssl))
}
