//! Many machines are asked at the same time, a bounded number at once.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

/// Number of machines that are asked at once.
const AT_ONCE: usize = 16;

/// The answers to `questions`, each of which comes with its machine's name, by that name.
pub(super) async fn ask_each<T, F>(questions: impl Iterator<Item = (String, F)>) -> BTreeMap<String, T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut answers = BTreeMap::new();
    let mut asked = JoinSet::new();
    let mut waiting = questions;
    loop {
        while asked.len() < AT_ONCE
            && let Some((name, question)) = waiting.next()
        {
            asked.spawn(async move { (name, question.await) });
        }
        match asked.join_next().await {
            Some(Ok((name, answer))) => _ = answers.insert(name, answer),
            Some(Err(_)) => {}
            None => return answers,
        }
    }
}
