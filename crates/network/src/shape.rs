//! Checks of linear maps, and the shapes of their results.

use crate::error::{Error, Result};
use crate::linear::{Conv, Dense, Linear, Sliding, Window};
use crate::place::{MAX_LEN, Place, Shape, product};

impl Linear {
    /// Returns the shape of the result on a source of shape `given`.
    pub(crate) fn check(&self, given: Shape, place: &Place) -> Result<Shape> {
        let shape = match self {
            Self::Conv(conv) => conv.check(given, place)?,
            Self::Dense(dense) => dense.check(given, place)?,
            Self::Window(window) => window.check(given, place)?,
        };
        place.count("the size of its output", product(&shape), 1, MAX_LEN)?;
        Ok(shape)
    }
}

impl Conv {
    fn check(&self, given: Shape, place: &Place) -> Result<Shape> {
        let &Self {
            kernels,
            channels,
            groups,
            kernel,
            ..
        } = self;
        place.side("channels", channels)?;
        place.side("kernels", kernels)?;
        place.side("groups", groups)?;
        if channels % groups != 0 || kernels % groups != 0 {
            return Err(Error::Groups {
                place: place.0.clone(),
                found: groups,
                channels,
                kernels,
            });
        }
        if channels != given[0] {
            return Err(place.shape(format!("{channels} channels"), given));
        }
        let [height, width] = self.sliding().check([given[1], given[2]], place)?;
        let sides = [kernels, channels / groups, kernel[0], kernel[1]];
        place.list("weights", &self.weights, &sides)?;
        Ok([kernels, height, width])
    }
}

impl Dense {
    fn check(&self, given: Shape, place: &Place) -> Result<Shape> {
        if self.inputs != product(&given) {
            return Err(place.shape(format!("{} numbers", self.inputs), given));
        }
        place.list("weights", &self.weights, &[self.outputs, self.inputs])?;
        Ok([self.outputs, 1, 1])
    }
}

impl Window {
    fn check(&self, given: Shape, place: &Place) -> Result<Shape> {
        place.side("channels", self.channels)?;
        let most = self.channels.saturating_sub(given[0]);
        if given[0] > self.channels {
            return Err(place.shape(format!("at most {} channels", self.channels), given));
        }
        place.count("the first channel", self.first, 0, most)?;
        let [height, width] = self.sliding().check([given[1], given[2]], place)?;
        place.list("weights", &self.weights, &self.kernel)?;
        Ok([self.channels, height, width])
    }
}

impl Sliding {
    /// Returns the number of rows and columns of windows.
    fn check(&self, source: [usize; 2], place: &Place) -> Result<[usize; 2]> {
        for axis in [0, 1] {
            place.side("a kernel side", self.kernel[axis])?;
            place.side("a stride", self.stride[axis])?;
            place.side("a dilation", self.dilation[axis])?;
        }
        for pad in self.pads {
            place.pad(pad)?;
        }
        let (padded, span) = (self.padded(source), self.span());
        for axis in [0, 1] {
            place.range("a padded side", padded[axis], 1, MAX_LEN as i64)?;
            place.range("the span of a kernel", span[axis] as i64, 1, padded[axis])?;
        }
        Ok(self.output(source))
    }
}
