// Addresses, base64, keys and origins, without a network.
#include "serve/http_message.h"

#include <gtest/gtest.h>

#include "serve/access.h"
#include "serve/api_error.h"
#include "serve/base64.h"
#include "support/error.h"
#include "support/scratch.h"

namespace fwl {
namespace {

TEST(HttpMessage, TargetsAreDecodedIntoPathAndQuery) {
  HttpRequest request;
  parse_target("/a%20b/c?x=1&y=%26&flag", request);
  EXPECT_EQ(request.path, "/a b/c");
  EXPECT_EQ(request.query["x"], "1");
  EXPECT_EQ(request.query["y"], "&");
  EXPECT_TRUE(request.query.contains("flag"));
}

TEST(HttpMessage, MalformedTargetsAreRefused) {
  for (const auto* target : {"", "a", "http://x/", "/%", "/%1", "/%zz", "/%00", "/a%0d%0ab", "/a\nb", "/?x=%g0"}) {
    HttpRequest request;
    EXPECT_THROW(parse_target(target, request), UserError) << target;
  }
}

TEST(HttpMessage, HeaderValuesCannotEndTheirLine) {
  EXPECT_EQ(header_value("a\r\nSet-Cookie: b"), "a  Set-Cookie: b");
}

TEST(Base64, RoundTripsAndRefusesOtherText) {
  for (const auto* text : {"", "a", "ab", "abc", "abcd"}) EXPECT_EQ(base64_decode(base64_encode(text)), text);
  EXPECT_EQ(base64_encode("ab"), "YWI=");
  for (const auto* text : {"a", "!!!!", "YW", "YWI=YWI"}) EXPECT_EQ(base64_decode(text), "") << text;
}

HttpRequest request_with(const std::string& name, const std::string& value) {
  HttpRequest request;
  request.headers = {{"host", "localhost:8080"}, {name, value}};
  return request;
}

TEST(Access, KeysOwnTheirSessionsAndOnlyWholeKeysCount) {
  const auto keys = write_text(fresh_folder("access") + "/keys", "first-secret\r\n\n# comment\nsecond-secret\n");
  const Access access({.key_file = keys, .origins = {}});
  const auto first = access.owner_of(request_with("authorization", "Bearer first-secret"));
  EXPECT_EQ(first, access.owner_of(request_with("authorization", "basic " + base64_encode("me:first-secret"))));
  EXPECT_EQ(first, access.owner_of(request_with("x-api-key", "first-secret")));
  EXPECT_NE(first, access.owner_of(request_with("authorization", "Bearer second-secret")));
  for (const auto* text :
       {"Bearer first-secre", "Bearer first-secret ", "Bearer ", "first-secret", "", "Bearer # comment"})
    EXPECT_THROW(access.owner_of(request_with("authorization", text)), ApiError) << text;
}

TEST(Access, OtherSitesAreRefusedUnlessNamed) {
  const Access closed({.key_file = {}, .origins = {}});
  EXPECT_EQ(closed.owner_of(request_with("origin", "http://localhost:8080")), "local");
  for (const auto* origin : {"http://evil.example", "null", "http://localhost:80801", "http://xlocalhost:8080"})
    EXPECT_THROW(closed.owner_of(request_with("origin", origin)), ApiError) << origin;
  EXPECT_THROW(closed.owner_of(request_with("host", "evil.example")), ApiError);
  const Access open({.key_file = {}, .origins = {"http://friend.example"}});
  EXPECT_EQ(open.owner_of(request_with("origin", "http://friend.example")), "local");
  EXPECT_FALSE(open.cors_headers(request_with("origin", "http://friend.example")).empty());
}

}  // namespace
}  // namespace fwl
