#pragma once
// A directory as a node on another host reads it: by requests and answers as they are sent, without the network.

#include <string>

#include <gtest/gtest.h>

#include "src/node/log_files.h"
#include "src/node/remote_files.h"
#include "src/cluster/messages/frame.h"

namespace granary::tests {

class ReadByMessages {
 public:
  ReadByMessages(rdma::NodeId node, const std::string& directory)
      : owner_(directory, base::system_files()),
        files_(node, {.list = [this](auto& question) { return ask(question); },
                      .read = [this](auto& question) { return ask(question); }}) {}

  db::RemoteFiles& files() { return files_; }
  unsigned questions() const { return questions_; }

 private:
  template <typename Request>
  Status ask(cluster::messages::QuestionOf<Request>& question) {
    ++questions_;
    std::string message;
    question.encode(message);
    cluster::messages::Frame frame;
    Request request;
    EXPECT_TRUE(open_frame(message, frame) && cluster::messages::decode(frame.body, request));
    typename Request::Answer answer;
    owner_.answer(request, answer);
    question.receive(cluster::messages::encode(Request::kType, answer));
    EXPECT_EQ(question.outcome(), cluster::messages::AskOutcome::kAnswered);
    return {};
  }

  db::LogFiles owner_;
  db::RemoteFiles files_;
  unsigned questions_ = 0;
};

}  // namespace granary::tests
