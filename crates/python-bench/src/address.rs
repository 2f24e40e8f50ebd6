use pyo3::{exceptions::PyValueError, prelude::*};
use std::net::{IpAddr, Ipv4Addr};

/// The address that Python gives as text.
pub fn ip_of(host: &str) -> PyResult<IpAddr> {
    host.parse()
        .map_err(|_| PyValueError::new_err(format!("{host:?} is no IP address")))
}

/// The address of an emulated link that Python gives as text.
pub fn ipv4_of(host: &str) -> PyResult<Ipv4Addr> {
    host.parse()
        .map_err(|_| PyValueError::new_err(format!("{host:?} is no IPv4 address")))
}
