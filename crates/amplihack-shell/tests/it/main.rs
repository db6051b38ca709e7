//! What the readers find in scripts: beside real bash, and in scripts that are made to mislead them or to keep them busy.

mod differential;
mod execution;
mod limits;
mod misread;
