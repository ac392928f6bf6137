// A transport on Unreal's modules HTTP and WebSockets. Add both, and the folder include of the package, to your module's Build.cs:
//   PublicDependencyModuleNames.AddRange(new[] { "HTTP", "WebSockets" });
//   PublicIncludePaths.Add(Path.Combine(ModuleDirectory, "ThirdParty/lattice/include"));
// Our tests do not compile it: it is written for Unreal Engine 5.3.
#pragma once

#include "Containers/Ticker.h"
#include "CoreMinimal.h"
#include "HttpModule.h"
#include "IWebSocket.h"
#include "Interfaces/IHttpRequest.h"
#include "Interfaces/IHttpResponse.h"
#include "WebSocketsModule.h"

#include <lattice/director.hpp>

#include <map>

/** Makes the calls of lattice::Player, lattice::Sidecar and lattice::Lobby on the game thread. */
class FLatticeTransport final : public lattice::Transport
{
public:
	virtual ~FLatticeTransport() override
	{
		while (!Running.empty())
		{
			cancel(Running.begin()->first);
		}
	}

	/** Unreal delivers a body at its end, so tickets are polled. */
	virtual bool streams() const override { return false; }

	virtual Id send(lattice::HttpRequest Request, lattice::HttpHandler Handler) override
	{
		const Id Call = ++Last;
		const TSharedRef<IHttpRequest, ESPMode::ThreadSafe> Http = FHttpModule::Get().CreateRequest();
		Http->SetVerb(UTF8_TO_TCHAR(Request.method.c_str()));
		Http->SetURL(UTF8_TO_TCHAR(Request.url.c_str()));
		for (const auto& [Name, Value] : Request.headers)
		{
			Http->SetHeader(UTF8_TO_TCHAR(Name.c_str()), UTF8_TO_TCHAR(Value.c_str()));
		}
		if (!Request.body.empty())
		{
			Http->SetContent(TArray<uint8>(reinterpret_cast<const uint8*>(Request.body.data()), static_cast<int32>(Request.body.size())));
		}
		Http->OnProcessRequestComplete().BindLambda([this, Call, Handler = MoveTemp(Handler)](FHttpRequestPtr, FHttpResponsePtr Response, bool bWhole)
		{
			if (Running.erase(Call) > 0)
			{
				Deliver(Handler, Response, bWhole);
			}
		});
		Running[Call] = [Http] { Http->OnProcessRequestComplete().Unbind(); Http->CancelRequest(); };
		Http->ProcessRequest();
		return Call;
	}

	virtual Id after(lattice::Milliseconds Time, std::function<void()> Function) override
	{
		const Id Call = ++Last;
		const FTSTicker::FDelegateHandle Handle = FTSTicker::GetCoreTicker().AddTicker(FTickerDelegate::CreateLambda([this, Call, Function = MoveTemp(Function)](float)
		{
			if (Running.erase(Call) > 0)
			{
				Function();
			}
			return false;
		}), static_cast<float>(Time.count()) / 1000.0f);
		Running[Call] = [Handle] { FTSTicker::GetCoreTicker().RemoveTicker(Handle); };
		return Call;
	}

	virtual Id open(std::string Url, lattice::SocketHandler Handler) override
	{
		const Id Call = ++Last;
		const TSharedRef<IWebSocket> Socket = FWebSocketsModule::Get().CreateWebSocket(UTF8_TO_TCHAR(Url.c_str()));
		Socket->OnConnected().AddLambda([Handler] { Handler.opened(); });
		Socket->OnMessage().AddLambda([Handler](const FString& Text)
		{
			const FTCHARToUTF8 Converted(*Text);
			Handler.message(std::string_view(Converted.Get(), Converted.Length()));
		});
		const auto Closed = [this, Call, Handler](int32 Code)
		{
			Sockets.erase(Call);
			if (Running.erase(Call) > 0)
			{
				Handler.closed(Code);
			}
		};
		Socket->OnConnectionError().AddLambda([Closed](const FString&) { Closed(1006); });
		Socket->OnClosed().AddLambda([Closed](int32 Code, const FString&, bool) { Closed(Code); });
		Sockets.emplace(Call, Socket);
		Running[Call] = [Socket]
		{
			Socket->OnConnected().Clear();
			Socket->OnMessage().Clear();
			Socket->OnConnectionError().Clear();
			Socket->OnClosed().Clear();
			Socket->Close();
		};
		Socket->Connect();
		return Call;
	}

	virtual void write(Id Call, std::string Text) override
	{
		const auto Found = Sockets.find(Call);
		if (Found != Sockets.end())
		{
			Found->second->Send(UTF8_TO_TCHAR(Text.c_str()));
		}
	}

	virtual void cancel(Id Call) override
	{
		Sockets.erase(Call);
		const auto Found = Running.find(Call);
		if (Found != Running.end())
		{
			const std::function<void()> End = MoveTemp(Found->second);
			Running.erase(Found);
			End();
		}
	}

private:
	static void Deliver(const lattice::HttpHandler& Handler, const FHttpResponsePtr& Response, bool bWhole)
	{
		if (Response.IsValid())
		{
			lattice::Headers Headers;
			for (const FString& Line : Response->GetAllHeaders())
			{
				FString Name, Value;
				if (Line.Split(TEXT(": "), &Name, &Value))
				{
					Headers.emplace_back(TCHAR_TO_UTF8(*Name), TCHAR_TO_UTF8(*Value));
				}
			}
			Handler.head(Response->GetResponseCode(), Headers);
			const TArray<uint8>& Body = Response->GetContent();
			if (!Handler.body(std::string_view(reinterpret_cast<const char*>(Body.GetData()), static_cast<size_t>(Body.Num()))))
			{
				return;
			}
		}
		Handler.end(bWhole && Response.IsValid());
	}

	Id Last = 0;
	std::map<Id, std::function<void()>> Running;
	std::map<Id, TSharedRef<IWebSocket>> Sockets;
};
