//! A browser without scripts on the dashboard: it keeps a cookie, reads pages, and sends forms with the page's origin.

use std::collections::BTreeMap;
use std::sync::Mutex;

use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Method, RequestBuilder};

use crate::client::{Answer, Client};

/// One browser on one relayer. It does not follow redirects; the test does.
pub struct Browser {
    client: Client,
    base_url: String,
    cookie: Mutex<Option<String>>,
    /// All cookies but that of a session, by name.
    others: Mutex<BTreeMap<String, String>>,
}

impl Browser {
    /// A browser in which nobody is signed in.
    pub fn new(base_url: &str) -> Browser {
        Browser::over(reqwest::Client::builder(), base_url)
    }

    /// The same with a prepared HTTP client, for example one that resolves a made-up host name.
    pub fn over(connections: ClientBuilder, base_url: &str) -> Browser {
        let http = connections.redirect(Policy::none()).build().expect("a client");
        let client = Client::over(http, base_url, None);
        Browser { client, base_url: base_url.to_owned(), cookie: Mutex::default(), others: Mutex::default() }
    }

    /// A browser that is signed in with this key.
    pub async fn signed_in(base_url: &str, key: &str) -> Browser {
        let browser = Browser::new(base_url);
        browser.sends_form("/dashboard/sign-in", &[("key", key)]).await.leads_to("/dashboard");
        browser
    }

    /// The cookie it holds, as `name=value`.
    pub fn cookie(&self) -> Option<String> {
        self.cookie.lock().expect("no test panics here").clone()
    }

    /// Replaces the cookie.
    pub fn holds(&self, cookie: Option<&str>) {
        *self.cookie.lock().expect("no test panics here") = cookie.map(str::to_owned);
    }

    /// The cookies beside that of a session.
    pub fn others(&self) -> BTreeMap<String, String> {
        self.others.lock().expect("no test panics here").clone()
    }

    /// Replaces them.
    pub fn holds_others(&self, others: BTreeMap<String, String>) {
        *self.others.lock().expect("no test panics here") = others;
    }

    /// A request with the cookies, to be completed by the test.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, path);
        let others = self.others().into_iter().map(|(name, value)| format!("{name}={value}"));
        let cookies: Vec<String> = self.cookie().into_iter().chain(others).collect();
        if cookies.is_empty() { request } else { request.header(COOKIE, cookies.join("; ")) }
    }

    pub async fn sends(&self, request: RequestBuilder) -> Answer {
        let answer = self.client.sends(request).await;
        let set = answer.headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        // The cookie has one name over http and another over https; signing out clears both.
        let name = if self.base_url.starts_with("https:") { "__Host-purser=" } else { "purser=" };
        for cookie in set.filter_map(|line| line.split(';').next()).filter(|cookie| cookie.starts_with(name))
        {
            self.holds(Some(cookie).filter(|cookie| *cookie != name));
        }
        let set = answer.headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = set.filter_map(|line| line.split(';').next()?.split_once('='));
        let mut others = self.others.lock().expect("no test panics here");
        for (name, value) in pairs.filter(|(name, _)| !["purser", "__Host-purser"].contains(name)) {
            if value.is_empty() {
                others.remove(name);
            } else {
                others.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub async fn reads(&self, path: &str) -> Answer {
        self.sends(self.request(Method::GET, path)).await
    }

    /// Sends a form as a page of the dashboard would.
    pub async fn sends_form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self.request(Method::POST, path).header("origin", &self.base_url);
        self.sends(request.form(fields)).await
    }
}

impl Answer {
    /// Asserts a redirect and returns itself.
    #[track_caller]
    pub fn leads_to(self, path: &str) -> Answer {
        assert_eq!((self.status, self.header("location")), (303, Some(path)), "{}", self.text);
        self
    }

    /// Asserts that the page says this and returns itself.
    #[track_caller]
    pub fn says(self, text: &str) -> Answer {
        assert!(self.text.contains(text), "{text:?} is not in {}", self.text);
        self
    }
}
