//! `slipway drivers`.

mod bundle;
mod configure;
mod deploy;
mod import_vdo;
mod login;
mod matrix;
mod remove;
mod status;
mod upgrade;
mod users;

use std::future::Future;

use kube::Client;

use super::connect;
use crate::args::{Access, Drivers, Matrix, Users};
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::Printer;
use crate::runtime::Runtime;

pub(crate) fn run(command: Drivers, printer: &Printer) -> anyhow::Result<Exit> {
    match command {
        Drivers::Status(access) => status::run(&access, printer),
        Drivers::Deploy(args) => deploy::run(&args, printer),
        Drivers::Configure(args) => configure::run(&args, printer),
        Drivers::Upgrade(args) => upgrade::run(&args, printer),
        Drivers::Remove(args) => remove::run(&args, printer),
        Drivers::Users(Users::Create(args)) => users::create(&args, printer),
        Drivers::Users(Users::Verify(args)) => users::verify(&args, printer),
        Drivers::ImportVdo(args) => import_vdo::run(&args, printer),
        Drivers::Bundle(args) => bundle::run(&args, printer),
        Drivers::Matrix(Matrix::Show(show)) => matrix::show::run(&show, printer),
        Drivers::Matrix(Matrix::Validate { file }) => matrix::validate::run(&file, printer),
        Drivers::Matrix(Matrix::Pin(args)) => matrix::pin::run(&args, printer),
        Drivers::Matrix(Matrix::Sign { file, key }) => matrix::sign::run(&file, &key, printer),
    }
}

/// Connects to a cluster, and does something there until it is done or interrupted.
fn on_cluster<F, R>(access: &Access, interrupted: &str, printer: &Printer, work: F) -> anyhow::Result<Exit>
where
    F: FnOnce(Client) -> R,
    R: Future<Output = anyhow::Result<Exit>>,
{
    Runtime::new()?.block_on(async {
        let client = connect(access).await?;
        match unless_interrupted(work(client)).await {
            Some(done) => done,
            None => interrupt::report(interrupted, printer),
        }
    })
}
