//! Who asks for a password, who waits, and who is told.

use super::*;

/// A password that another thread tells, what it asks with, and how often that rang.
fn elsewhere() -> (Arc<PasswordQuery>, PasswordQuestions, Arc<Mutex<u32>>) {
    let rings = Arc::new(Mutex::new(0));
    let counted = rings.clone();
    let (provider, questions) = PasswordProvider::elsewhere(move || *counted.lock().unwrap() += 1);
    match Password::told_by(provider) {
        Password::Asked(asked) => (asked, questions, rings),
        Password::Fixed(_) => unreachable!(),
    }
}

/// Wants the password, and asks if nobody does; what is told comes there.
fn wants(
    asked: &Arc<PasswordQuery>,
    refused: Option<&Secret>,
) -> std::result::Result<Secret, (Receiver<PasswordAnswer>, Arc<()>)> {
    match asked.want(refused) {
        Wanted::Here(secret) => Ok(secret),
        Wanted::Coming { told, ask, waits } => {
            ask.into_iter().for_each(|number| asked.ask(number));
            asked.remind();
            Err((told, waits))
        }
    }
}

#[test]
fn those_who_wait_have_one_question_and_one_answer() {
    let (asked, questions, rings) = elsewhere();
    assert!(questions.take_question().is_none());
    let (one, other) = (wants(&asked, None).unwrap_err(), wants(&asked, None).unwrap_err());
    assert_eq!(*rings.lock().unwrap(), 2, "whoever joins reminds");
    let question = questions.take_question().unwrap();
    assert!(questions.take_question().is_none() && format!("{question:?}{questions:?}{asked:?}").contains("Question"));
    question.answer("one".into());
    for (told, _) in [one, other] {
        assert_eq!(told.try_recv().unwrap().unwrap().expose(), "one");
    }
    assert_eq!(wants(&asked, None).unwrap().expose(), "one");
}

#[test]
fn what_is_told_again_though_it_was_refused_is_not_asked_for_at_once() {
    let (asked, questions, _) = elsewhere();
    let first = wants(&asked, None).unwrap_err();
    questions.take_question().unwrap().answer("one".into());
    let refused = first.0.recv().unwrap().unwrap();
    drop(wants(&asked, Some(&refused)).unwrap_err());
    questions.take_question().unwrap().answer("one".into());
    assert_eq!(wants(&asked, Some(&refused)).unwrap(), refused, "no question");
    asked.state().confirmed = Instant::now().checked_sub(PACE);
    let second = wants(&asked, Some(&refused)).unwrap_err();
    questions.take_question().unwrap().answer("two".into());
    assert_eq!(second.0.recv().unwrap().unwrap().expose(), "two");
    assert!(wants(&asked, Some(&Secret::new("two".into()))).is_err(), "a new one is asked for at once");
}

#[test]
fn a_question_that_ends_without_an_answer_is_told_to_those_who_wait() {
    let (asked, questions, _) = elsewhere();
    let (told, _waits) = wants(&asked, None).unwrap_err();
    drop(questions.take_question());
    assert!(told.try_recv().unwrap().unwrap_err().why.contains("without an answer"));
    let (told, _waits) = wants(&asked, None).unwrap_err();
    questions.take_question().unwrap().fail("it threw".into(), Some(Cause::new(7_u32)));
    let untold = told.try_recv().unwrap().unwrap_err();
    assert_eq!((untold.why.as_str(), untold.cause.is_some()), ("it threw", true));
}

#[test]
fn who_never_answers_is_asked_once_more_and_heard_no_longer() {
    let (asked, questions, _) = elsewhere();
    let first = wants(&asked, None).unwrap_err();
    let hanging = questions.take_question().unwrap();
    drop(first);
    assert!(wants(&asked, None).is_err() && questions.take_question().is_none(), "it may come yet");
    assert_eq!(asked.state().waiting.len(), 1, "who gave up is forgotten");
    asked.state().asked_at = Instant::now().checked_sub(GIVEN_UP);
    let (told, _waits) = wants(&asked, None).unwrap_err();
    let next = questions.take_question().unwrap();
    hanging.answer("late".into());
    assert!(told.try_recv().is_err());
    next.answer("next".into());
    assert_eq!(told.try_recv().unwrap().unwrap().expose(), "next");
}
