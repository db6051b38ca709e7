//! A web server on the loopback interface that gives out the files of a directory.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// Runs until the test has ended.
pub(crate) struct Server {
    port: u16,
}

impl Server {
    /// Gives out `directory`; of files whose name ends in `cut` only the first half, and then the line is dead.
    pub(crate) fn start(directory: &Path, cut: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let directory = directory.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up is the test's business.
                let _ = answer(&stream, &directory, cut);
            }
        });
        Self { port }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn answer(mut stream: &TcpStream, directory: &Path, cut: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let file: PathBuf = directory.join(path);
    let Ok(bytes) = std::fs::read(&file) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    let part = if !cut.is_empty() && path.ends_with(cut) { &bytes[..bytes.len() / 2] } else { &bytes[..] };
    stream.write_all(head.as_bytes())?;
    stream.write_all(part)
}
