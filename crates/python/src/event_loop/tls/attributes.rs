use pyo3::{
    PyTraverseError, PyVisit, intern,
    prelude::*,
    types::{PyDict, PyString},
};

/// A Python object whose attributes are read for each message: from its dictionary, without looking
/// through its class first.
pub struct Attributes {
    object: Py<PyAny>,
    dictionary: Py<PyDict>,
}

impl Attributes {
    /// Raises AttributeError for an object without a dictionary.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dictionary = object.getattr(intern!(object.py(), "__dict__"))?;
        Ok(Self {
            object: object.clone().unbind(),
            dictionary: dictionary.cast_into::<PyDict>()?.unbind(),
        })
    }

    pub fn object<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }

    pub fn get<'py>(&self, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let py = name.py();
        match self.dictionary.bind(py).get_item(name)? {
            Some(found) => Ok(found),
            None => self.object.bind(py).getattr(name),
        }
    }

    pub fn is_true(&self, name: &Bound<'_, PyString>) -> PyResult<bool> {
        self.get(name)?.is_truthy()
    }

    /// For the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        visit.call(&self.dictionary)
    }
}
