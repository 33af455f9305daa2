//! `slipway drivers`.

mod matrix;

use crate::args::{Drivers, Matrix};
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(command: Drivers, printer: &Printer) -> anyhow::Result<Exit> {
    match command {
        Drivers::Matrix(Matrix::Show(show)) => matrix::show::run(&show, printer),
        Drivers::Matrix(Matrix::Validate { file }) => matrix::validate::run(&file, printer),
    }
}
